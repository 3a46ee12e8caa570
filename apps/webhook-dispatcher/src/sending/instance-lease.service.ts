import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { Logger } from '@rmm/service-kit';
import { DispatcherConfig } from '../config.js';
import { InstanceLeaseRepository } from './instance-lease.repository.js';

/** An instance that does not renew for this long loses its leases. Longer than any attempt may take. */
export const LEASE_SECONDS = 45;
const RENEW_MS = 5_000;
/** Attempts that are in flight at shutdown are cut within this time; their shards become free afterwards. */
const CUT_SECONDS = 3;

export interface LeaseListener {
  /** Other instances own what was leased under the previous identity. */
  onExpired(): void;
  onRenewed(): void;
}

/**
 * The identity under which this process leases deliveries and shards. One row is renewed, however many leases there
 * are. The row counts, not its time alone: until another instance has deleted it, all leases remain valid.
 */
@Injectable()
export class InstanceLeaseService {
  private ownerId: string = randomUUID();
  private timer: NodeJS.Timeout | undefined;
  private listener: LeaseListener = { onExpired: () => undefined, onRenewed: () => undefined };
  private canStartUntilMs = 0;

  constructor(
    private readonly repository: InstanceLeaseRepository,
    private readonly logger: Logger,
    private readonly config: DispatcherConfig,
  ) {}

  get owner(): string {
    return this.ownerId;
  }

  /** True while an attempt that starts now ends before the lease does. */
  get canStartAttempt(): boolean {
    return performance.now() < this.canStartUntilMs;
  }

  async start(listener: LeaseListener): Promise<void> {
    this.listener = listener;
    await this.register();
    this.schedule();
  }

  /** @throws when the database is unavailable; the lease is then not renewed */
  async renew(): Promise<void> {
    const requestedMs = performance.now();
    if (await this.repository.renew(this.ownerId, LEASE_SECONDS)) {
      this.extendTo(requestedMs);
    } else {
      this.logger.warn('instance lease expired; continuing under a new identity');
      this.canStartUntilMs = 0;
      this.ownerId = randomUUID();
      this.listener.onExpired();
      await this.register();
    }
    this.listener.onRenewed();
  }

  /** Announces the shutdown, so that the other instances take over shards as they become free. */
  async announceShutdown(): Promise<void> {
    await this.repository.setLeaving(this.ownerId);
  }

  /**
   * Releases everything, so that others may claim it at once.
   * @param busyShards  those with attempts that are cut when the process ends: they become free later
   */
  async release(busyShards: readonly number[] = []): Promise<void> {
    this.abandon();
    await this.repository.delete(this.ownerId, busyShards, CUT_SECONDS);
  }

  /** Stops renewing and releases nothing, as a killed process. For specs. */
  abandon(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private schedule(): void {
    this.timer = setTimeout(() => {
      this.renew()
        .catch((err: unknown) =>
          this.logger.warn({ err }, 'instance lease renewal failed; no attempt starts once it is about to expire'),
        )
        .finally(() => {
          if (this.timer) this.schedule();
        });
    }, RENEW_MS).unref();
  }

  private async register(): Promise<void> {
    const requestedMs = performance.now();
    await this.repository.insert(this.ownerId, LEASE_SECONDS);
    this.extendTo(requestedMs);
  }

  /** Counts from when the request was sent, by a monotonic clock, so that this process never overestimates its lease. */
  private extendTo(requestedMs: number): void {
    this.canStartUntilMs = requestedMs + LEASE_SECONDS * 1_000 - this.config.timeoutMs;
  }
}
