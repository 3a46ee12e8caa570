import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@rmm/service-kit';
import { InstanceLeaseService } from '../instance-lease.service.js';
import { preferredOwners } from './preferred-owners.js';
import { ReplicaSignalsService } from './replica-signals.service.js';
import { SHARDS } from './shard-of.js';
import { ShardsRepository, type ShardsState } from './shards.repository.js';

const DRAIN_POLL_MS = 50;

export interface ShardWork {
  /** Called after this instance has acquired shards. */
  onAcquired(): void;
  /** Releases the queued deliveries of shards; resolves when that is stored. */
  releaseDeliveries(shards: ReadonlySet<number>): Promise<void>;
  /** Returns how many attempts to the origins of a shard are under way. */
  countInFlight(shard: number): number;
}

/**
 * The shards this instance owns. Only the owner sends to the origins of a shard, so limits and breakers of an origin
 * apply to all replicas together.
 *
 * The owner changes when the previous one has released the shard, after the last of its attempts has ended; or when its
 * lease has expired, and an owner that cannot renew starts no attempt that could outlive its lease. So two replicas never
 * send to one origin at the same time, with one exception: the attempts of a process that is suspended (SIGSTOP, its
 * machine asleep) stay open at the receiver for as long as that lasts.
 */
@Injectable()
export class ShardOwnershipService {
  private readonly owned = new Set<number>();
  private readonly releasing = new Set<number>();
  private deliveriesReleased: Promise<unknown> = Promise.resolve();
  private work: ShardWork | undefined;
  private running: Promise<void> | null = null;
  private isRequested = false;
  private isStopping = false;

  constructor(
    private readonly repository: ShardsRepository,
    private readonly lease: InstanceLeaseService,
    private readonly replicas: ReplicaSignalsService,
    private readonly logger: Logger,
  ) {}

  get count(): number {
    return this.owned.size;
  }

  get ownsAll(): boolean {
    return this.owned.size === SHARDS;
  }

  owns(shard: number): boolean {
    return this.owned.has(shard);
  }

  /** The owned shards for a query; null when all are owned. */
  get filter(): number[] | null {
    return this.ownsAll ? null : [...this.owned];
  }

  /** Resolves when every shard that is available has been acquired. */
  async start(work: ShardWork): Promise<void> {
    this.work = work;
    await this.balance();
    this.replicas.publishShardsChanged();
  }

  /** Distributes the shards again, after an instance started or stopped, and with each renewal of the lease. */
  refresh(): void {
    if (!this.work) return;
    this.isRequested = true;
    this.running ??= this.run().finally(() => {
      this.running = null;
    });
  }

  /** Drops all shards, since the lease of this instance has expired. */
  dropAll(): void {
    this.owned.clear();
    this.releasing.clear();
  }

  /** Releases each shard when its attempts have ended; those left when `drained` resolves are released with the lease. */
  async stop(drained: Promise<void>): Promise<void> {
    this.isStopping = true;
    await this.running;
    if (!this.work) return;
    let isDrained = false;
    void drained.then(() => (isDrained = true));
    this.startRelease([...this.owned]);
    while (!isDrained && this.releasing.size > 0) {
      await this.releaseDrained().catch((err: unknown) =>
        this.logger.warn({ err }, 'releasing shards failed; they are released with the instance lease'),
      );
      if (this.releasing.size > 0) await sleep(DRAIN_POLL_MS);
    }
  }

  /** Returns the shards with attempts under way. */
  listBusy(): number[] {
    return [...this.releasing, ...this.owned].filter((shard) => (this.work?.countInFlight(shard) ?? 0) > 0);
  }

  private async run(): Promise<void> {
    try {
      while (!this.isStopping && (this.isRequested || this.releasing.size > 0)) {
        if (this.isRequested) {
          this.isRequested = false;
          await this.balance();
        }
        await this.releaseDrained();
        if (this.releasing.size > 0) await sleep(DRAIN_POLL_MS);
      }
    } catch (err) {
      this.logger.warn({ err }, 'distributing shards failed; it is repeated with the next renewal of the lease');
    }
  }

  private async balance(): Promise<void> {
    const me = this.lease.owner;
    const state = await this.repository.getState();
    const preferred = preferredOwners(state.willing);
    const isPreferred = (shard: number) => preferred[shard] === me;
    this.startRelease([...this.owned].filter((shard) => !isPreferred(shard)));
    await this.acquire(state, isPreferred);
  }

  private async acquire({ owners, alive }: ShardsState, isPreferred: (shard: number) => boolean): Promise<void> {
    const me = this.lease.owner;
    const isFree = (owner: string | null) => owner === null || !alive.has(owner);
    const wanted = owners.flatMap((owner, shard) =>
      isPreferred(shard) && !this.owned.has(shard) && !this.releasing.has(shard) && (isFree(owner) || owner === me)
        ? [shard]
        : [],
    );
    // Acquired before, but the response of the database was lost.
    const known = wanted.filter((shard) => owners[shard] === me);
    const free = wanted.filter((shard) => owners[shard] !== me);
    const acquired = await this.repository.acquire(
      me,
      free,
      free.map((shard) => owners[shard] ?? null),
    );
    if (me !== this.lease.owner) return; // the lease expired meanwhile
    for (const shard of [...known, ...acquired]) this.owned.add(shard);
    if (known.length + acquired.length > 0) this.work?.onAcquired();
  }

  private startRelease(shards: readonly number[]): void {
    if (shards.length === 0) return;
    for (const shard of shards) {
      this.owned.delete(shard);
      this.releasing.add(shard);
    }
    this.deliveriesReleased = Promise.all([this.deliveriesReleased, this.work?.releaseDeliveries(new Set(shards))]);
  }

  private async releaseDrained(): Promise<void> {
    if (this.releasing.size === 0) return;
    await this.deliveriesReleased;
    const me = this.lease.owner;
    const drained = [...this.releasing].filter((shard) => this.work?.countInFlight(shard) === 0);
    if (drained.length === 0) return;
    await this.repository.release(me, drained);
    for (const shard of drained) this.releasing.delete(shard);
    this.replicas.publishShardsChanged();
  }
}
