import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import { InstanceLeaseService } from '../instance-lease.service.js';
import { preferredOwners } from './preferred-owners.js';
import { ReplicaSignalsService } from './replica-signals.service.js';
import { SHARDS } from './shard-of.js';
import { ShardsRepository, type ShardsState } from './shards.repository.js';

const DRAIN_POLL_MS = 50;

export interface ShardWork {
  /** Shards that are ours from now on. */
  taken(): void;
  /** Gives back what has not begun; ends when that stands in the database. */
  leave(shards: ReadonlySet<number>): Promise<void>;
  /** Attempts under way to the origins of a shard. */
  inFlight(shard: number): number;
}

/**
 * The shards this process owns: it alone sends to their origins, so that caps and breakers of an origin hold over all
 * replicas. It begins no attempt outside them.
 *
 * A shard changes hands when its owner has said so, after the last of its attempts there has ended; or when the
 * owner's lease has lapsed, and an owner that cannot renew begins no attempt that could outlive its lease. So two
 * processes never send to one origin at the same time, with one exception: the attempts of a process that is frozen as
 * a whole (stopped, its machine asleep) stay open at the receiver, however long that lasts.
 */
@Injectable()
export class ShardOwnershipService {
  private readonly owned = new Set<number>();
  private readonly leaving = new Set<number>();
  private returned: Promise<unknown> = Promise.resolve();
  private work: ShardWork | undefined;
  private running: Promise<void> | null = null;
  private isWanted = false;
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

  /** For a query: null stands for all of them. */
  get filter(): number[] | null {
    return this.ownsAll ? null : [...this.owned];
  }

  /** Ends when what can be taken has been taken. */
  async start(work: ShardWork): Promise<void> {
    this.work = work;
    await this.balance();
    this.replicas.shardsChanged();
  }

  /** Somebody came or went, or it is time to look. */
  refresh(): void {
    if (!this.work) return;
    this.isWanted = true;
    this.running ??= this.run().finally(() => {
      this.running = null;
    });
  }

  /** The lease is lost, and with it everything that went with it. */
  forget(): void {
    this.owned.clear();
    this.leaving.clear();
  }

  /** Gives up each shard as its attempts end; what is left when `drained` ends goes with the lease. */
  async stop(drained: Promise<void>): Promise<void> {
    this.isStopping = true;
    await this.running;
    if (!this.work) return;
    let isDrained = false;
    void drained.then(() => (isDrained = true));
    this.leave([...this.owned]);
    while (!isDrained && this.leaving.size > 0) {
      await this.giveUpDrained().catch((err: unknown) => this.logger.warn({ err }, 'Shards cannot be given up'));
      if (this.leaving.size > 0) await sleep(DRAIN_POLL_MS);
    }
  }

  /** Shards that still have attempts under way. */
  busy(): number[] {
    return [...this.leaving, ...this.owned].filter((shard) => (this.work?.inFlight(shard) ?? 0) > 0);
  }

  private async run(): Promise<void> {
    try {
      while (!this.isStopping && (this.isWanted || this.leaving.size > 0)) {
        if (this.isWanted) {
          this.isWanted = false;
          await this.balance();
        }
        await this.giveUpDrained();
        if (this.leaving.size > 0) await sleep(DRAIN_POLL_MS);
      }
    } catch (err) {
      this.logger.warn({ err }, 'The shards could not be shared out; done with the next renewal');
    }
  }

  private async balance(): Promise<void> {
    const me = this.lease.owner;
    const state = await this.repository.state();
    const preferred = preferredOwners(state.willing);
    const mine = (shard: number) => preferred[shard] === me;
    this.leave([...this.owned].filter((shard) => !mine(shard)));
    await this.take(state, mine);
  }

  private async take({ owners, alive }: ShardsState, mine: (shard: number) => boolean): Promise<void> {
    const me = this.lease.owner;
    const isFree = (owner: string | null) => owner === null || !alive.has(owner);
    const wanted = owners.flatMap((owner, shard) =>
      mine(shard) && !this.owned.has(shard) && !this.leaving.has(shard) && (isFree(owner) || owner === me)
        ? [shard]
        : [],
    );
    // Ours by the table, though the answer that said so was lost.
    const ours = wanted.filter((shard) => owners[shard] === me);
    const free = wanted.filter((shard) => owners[shard] !== me);
    const taken = await this.repository.take(
      me,
      free,
      free.map((shard) => owners[shard] ?? null),
    );
    if (me !== this.lease.owner) return; // the lease was lost meanwhile
    for (const shard of [...ours, ...taken]) this.owned.add(shard);
    if (ours.length + taken.length > 0) this.work?.taken();
  }

  private leave(shards: readonly number[]): void {
    if (shards.length === 0) return;
    for (const shard of shards) {
      this.owned.delete(shard);
      this.leaving.add(shard);
    }
    this.returned = Promise.all([this.returned, this.work?.leave(new Set(shards))]);
  }

  private async giveUpDrained(): Promise<void> {
    if (this.leaving.size === 0) return;
    await this.returned;
    const me = this.lease.owner;
    const drained = [...this.leaving].filter((shard) => this.work?.inFlight(shard) === 0);
    if (drained.length === 0) return;
    await this.repository.giveUp(me, drained);
    for (const shard of drained) this.leaving.delete(shard);
    this.replicas.shardsChanged();
  }
}
