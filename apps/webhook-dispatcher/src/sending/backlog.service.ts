import { Injectable } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import { ClaimsRepository } from './claims.repository.js';
import { LeaseReleaseService } from './lease-release.service.js';
import { SenderService } from './sender.service.js';

const INTERVAL_MS = 250;
/** Runs between two queries for organizations with a backlog, which other replicas create as well. */
const DISCOVER_EVERY = 40;
/** An organization keeps at least this many deliveries in memory, and as many as it sends in `KEEP_RUNS` runs. */
const KEEP_DELIVERIES = 500;
const KEEP_RUNS = 20;
/** Smooths the measured rate. */
const RATE_DECAY = 0.75;

/**
 * Limits the queued deliveries of organizations whose receivers are slow. What an organization cannot send within five
 * seconds is moved to its backlog in the table and claimed again in sets as its queue empties; new deliveries are
 * inserted into the backlog. So slow receivers do not fill the queue of the sender, which all organizations share.
 */
@Injectable()
export class BacklogService {
  /** The deliveries that organizations with a long queue send in a run. */
  private readonly rates = new Map<string, number>();
  private readonly organizations = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private runs = 0;

  constructor(
    private readonly sender: SenderService,
    private readonly leaseReleases: LeaseReleaseService,
    private readonly claims: ClaimsRepository,
    private readonly logger: Logger,
  ) {}

  /** The number of organizations with a backlog. */
  get size(): number {
    return this.organizations.size;
  }

  /** Returns whether new deliveries of an organization must wait behind its backlog. */
  isInBacklog(orgId: string): boolean {
    return this.organizations.has(orgId);
  }

  /** Records that an organization has a backlog in the table. */
  add(orgId: string): void {
    this.organizations.add(orgId);
  }

  start(): void {
    this.timer = setInterval(() => {
      this.running ??= this.balance()
        .catch((err: unknown) =>
          this.logger.warn({ err }, 'reading the backlog failed; its deliveries wait until the next run'),
        )
        .finally(() => {
          this.running = undefined;
        });
    }, INTERVAL_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  private async balance(): Promise<void> {
    if (this.runs % DISCOVER_EVERY === 0) await this.discover();
    this.runs += 1;
    this.moveSlowToBacklog();
    for (const orgId of [...this.organizations]) await this.claimFor(orgId);
  }

  private async discover(): Promise<void> {
    for (const orgId of await this.claims.listBacklogOrganizations()) this.add(orgId);
  }

  private moveSlowToBacklog(): void {
    if (this.sender.queued <= KEEP_DELIVERIES) return this.rates.clear();
    for (const { orgId, queued, ended } of this.sender.organizations()) {
      const knownRate = this.rates.get(orgId);
      if (queued <= KEEP_DELIVERIES) {
        if (knownRate !== undefined) this.rates.delete(orgId);
        continue;
      }
      const rate = Math.max(ended, (knownRate ?? 0) * RATE_DECAY);
      this.rates.set(orgId, rate);
      // The first run with a long queue does not measure a rate.
      if (knownRate === undefined) continue;
      const keep = Math.max(KEEP_DELIVERIES, Math.ceil(rate * KEEP_RUNS));
      if (queued <= keep) continue;
      this.add(orgId);
      const taken = this.sender.takeNewest(orgId, keep);
      void this.leaseReleases.add(taken.map((delivery) => ({ delivery, shard: null, isInBacklog: true })));
    }
  }

  private async claimFor(orgId: string): Promise<void> {
    const room = Math.min(KEEP_DELIVERIES - this.sender.countQueued(orgId), this.sender.room);
    if (room < KEEP_DELIVERIES / 2) return;
    // Pending releases are not in the table yet and would be missed.
    await this.leaseReleases.flush();
    const deliveries = await this.claims.claimBacklog(orgId, room);
    await this.sender.sendClaimed(deliveries);
    const left = room - deliveries.length;
    if (left === 0) return;
    // The backlog was empty: new deliveries are leased from now on. Those that joined it during the claim are claimed, too.
    this.organizations.delete(orgId);
    const joined = await this.claims.claimBacklog(orgId, left);
    if (joined.length === left) this.add(orgId);
    await this.sender.sendClaimed(joined);
  }
}
