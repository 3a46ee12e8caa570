import { Injectable } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import { ClaimsRepository } from './claims.repository.js';
import { LeaseReleaseService } from './lease-release.service.js';
import { SenderService } from './sender.service.js';

const LOOK_MS = 250;
/** Every how many looks the table is asked who has something parked: other processes park as well. */
const DISCOVER_EVERY = 40;
/** An organization keeps at least so many deliveries in memory, and as many as it gets through in so many looks. */
const KEPT = 500;
const KEPT_LOOKS = 20;
/** A busy second is not forgotten at once. */
const RATE_DECAY = 0.75;

/**
 * Keeps the memory of this process for those who get on. An organization whose receivers hang gets through a few
 * deliveries a second; what it cannot send within five seconds is parked in the table and comes back in sets as its
 * queue empties, and its new deliveries are parked from the start. So the room in the sender, which all that feeds it
 * waits for, never fills up with what nobody can send.
 */
@Injectable()
export class BacklogService {
  /** Of organizations with a long queue: what they got through in a look, lately. */
  private readonly rates = new Map<string, number>();
  private readonly parked = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private looks = 0;

  constructor(
    private readonly sender: SenderService,
    private readonly leaseReleases: LeaseReleaseService,
    private readonly claims: ClaimsRepository,
    private readonly logger: Logger,
  ) {}

  /** Organizations with deliveries in the table that wait for their turn. */
  get size(): number {
    return this.parked.size;
  }

  /** What an organization has parked goes before what comes now. */
  isInBacklog(orgId: string): boolean {
    return this.parked.has(orgId);
  }

  /** Something of the organization stands in the table now. */
  park(orgId: string): void {
    this.parked.add(orgId);
  }

  start(): void {
    this.timer = setInterval(() => {
      this.running ??= this.look()
        .catch((err: unknown) => this.logger.warn({ err }, 'Parked deliveries wait: the database cannot be asked'))
        .finally(() => {
          this.running = undefined;
        });
    }, LOOK_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  private async look(): Promise<void> {
    if (this.looks % DISCOVER_EVERY === 0) await this.discover();
    this.looks += 1;
    this.shorten();
    for (const orgId of [...this.parked]) await this.bringBack(orgId);
  }

  private async discover(): Promise<void> {
    for (const orgId of await this.claims.backlogOrganizations()) this.park(orgId);
  }

  private shorten(): void {
    if (this.sender.queued <= KEPT) return this.rates.clear();
    for (const { orgId, queued, ended } of this.sender.organizations()) {
      const known = this.rates.get(orgId);
      if (queued <= KEPT) {
        if (known !== undefined) this.rates.delete(orgId);
        continue;
      }
      const rate = Math.max(ended, (known ?? 0) * RATE_DECAY);
      this.rates.set(orgId, rate);
      // A queue that has just become long may yet prove quick.
      if (known === undefined) continue;
      const kept = Math.max(KEPT, Math.ceil(rate * KEPT_LOOKS));
      if (queued <= kept) continue;
      this.park(orgId);
      const taken = this.sender.shorten(orgId, kept);
      void this.leaseReleases.add(taken.map((delivery) => ({ delivery, shard: null, isInBacklog: true })));
    }
  }

  private async bringBack(orgId: string): Promise<void> {
    const room = Math.min(KEPT - this.sender.queuedOf(orgId), this.sender.room);
    if (room < KEPT / 2) return;
    // What is on its way back into the table would be missed.
    await this.leaseReleases.flush();
    this.parked.delete(orgId);
    const deliveries = await this.claims.claimBacklog(orgId, room);
    if (deliveries.length === room) this.park(orgId);
    await this.sender.sendClaimed(deliveries);
  }
}
