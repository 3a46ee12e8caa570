import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { Logger } from '@rmm/service-kit';
import { DispatcherConfig } from '../config.js';

/** A process that has not renewed for so long has lost what it held. Longer than any attempt may take. */
export const LEASE_SECONDS = 45;
const RENEW_MS = 5_000;
/** Between handing back and the end of the process what is still under way is cut: shards are free after that. */
const CUT_SECONDS = 3;

export interface LeaseListener {
  /** What was held under the old identity belongs to others now. */
  lost(): void;
  renewed(): void;
}

/**
 * The identity under which this process holds deliveries and shards. One row is renewed, whatever their number; it is
 * the row that counts, not its time alone: until another process has removed it, everything held is still ours.
 */
@Injectable()
export class InstanceLeaseService {
  private ownerId: string = randomUUID();
  private timer: NodeJS.Timeout | undefined;
  private listener: LeaseListener = { lost: () => undefined, renewed: () => undefined };
  private mayBeginUntilMs = 0;

  constructor(
    private readonly worker: WorkerDatabase,
    private readonly logger: Logger,
    private readonly config: DispatcherConfig,
  ) {}

  get owner(): string {
    return this.ownerId;
  }

  /** Whether an attempt that begins now is sure to end before the lease does. */
  get mayBegin(): boolean {
    return performance.now() < this.mayBeginUntilMs;
  }

  async start(listener: LeaseListener): Promise<void> {
    this.listener = listener;
    await this.register();
    this.schedule();
  }

  /** @throws when the database cannot be asked; the lease then simply was not renewed */
  async renew(): Promise<void> {
    const askedMs = performance.now();
    const renewed = await this.worker.query(
      `update dispatcher_instance set lease_until = now() + make_interval(secs => $2) where id = $1 returning id`,
      [this.ownerId, LEASE_SECONDS],
    );
    if (renewed.length > 0) {
      this.stands(askedMs);
    } else {
      this.logger.warn('The lease of this process has lapsed: it goes on under a new identity');
      this.mayBeginUntilMs = 0;
      this.ownerId = randomUUID();
      this.listener.lost();
      await this.register();
    }
    this.listener.renewed();
  }

  /** Tells the others to take over shards as they become free. */
  async leave(): Promise<void> {
    await this.worker.query('update dispatcher_instance set is_leaving = true where id = $1', [this.ownerId]);
  }

  /**
   * Hands everything back: others may claim it at once.
   * @param busyShards  those with attempts that will be cut when the process ends: free a little later
   */
  async release(busyShards: readonly number[] = []): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.worker.query(
      `with gone as (
         delete from dispatcher_instance where id = $1
       ), freed as (
         update delivery_shard
            set owner = null,
                free_at = case when shard = any($2::smallint[]) then now() + make_interval(secs => $3) else free_at end
          where owner = $1
       )
       update delivery set lease_owner = null, due_at = least(due_at, now())
        where lease_owner = $1 and lease_owner <> org_id`,
      [this.ownerId, busyShards, CUT_SECONDS],
    );
  }

  /** Ends without handing anything back, as a process that was killed. For specs. */
  abandon(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private schedule(): void {
    this.timer = setTimeout(() => {
      this.renew()
        .catch((err: unknown) => this.logger.warn({ err }, 'The lease could not be renewed'))
        .finally(() => {
          if (this.timer) this.schedule();
        });
    }, RENEW_MS).unref();
  }

  private async register(): Promise<void> {
    const askedMs = performance.now();
    await this.worker.query(
      `insert into dispatcher_instance (id, lease_until) values ($1, now() + make_interval(secs => $2))`,
      [this.ownerId, LEASE_SECONDS],
    );
    this.stands(askedMs);
  }

  /** Counted from when the database was asked, by a clock that nobody sets. */
  private stands(askedMs: number): void {
    this.mayBeginUntilMs = askedMs + LEASE_SECONDS * 1_000 - this.config.timeoutMs;
  }
}
