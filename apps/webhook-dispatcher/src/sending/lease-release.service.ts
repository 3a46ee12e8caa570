import { Injectable } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import { ClaimsRepository } from './claims.repository.js';
import { LeasedDeliveriesService } from './leased-deliveries.service.js';
import type { LeasedDelivery } from './leased-delivery.types.js';
import { retryForever } from './retry-forever.js';
import { ReplicaSignalsService } from './shards/replica-signals.service.js';

const SET_ROWS = 500;

/** A leased delivery to release. */
export interface ReleasedDelivery {
  delivery: LeasedDelivery;
  /** The shard to store; null keeps the stored one. */
  shard: number | null;
  /** True when it joins the backlog of its organization instead of being free for any replica. */
  isInBacklog: boolean;
}

/**
 * Releases deliveries that this replica will not send, in sets. A failed write is retried until it succeeds, since no
 * other replica can claim a delivery while this one renews its lease.
 */
@Injectable()
export class LeaseReleaseService {
  private waiting: ReleasedDelivery[] = [];
  private running: Promise<void> | null = null;

  constructor(
    private readonly claims: ClaimsRepository,
    private readonly leased: LeasedDeliveriesService,
    private readonly replicas: ReplicaSignalsService,
    private readonly logger: Logger,
  ) {}

  /** Resolves when the releases are stored. */
  add(released: readonly ReleasedDelivery[]): Promise<void> {
    for (const delivery of released) this.waiting.push(delivery);
    if (this.waiting.length > 0) {
      this.running ??= this.writeAll().finally(() => {
        this.running = null;
      });
    }
    return this.flush();
  }

  async flush(): Promise<void> {
    await this.running;
  }

  private async writeAll(): Promise<void> {
    // Releases added in the same tick join the first set.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const set = this.waiting.splice(0, SET_ROWS);
      await this.write(set);
      for (const { delivery } of set) this.leased.delete(delivery);
      if (set.some(({ isInBacklog }) => !isInBacklog)) this.replicas.publishDeliveriesDue();
    }
  }

  private write(set: readonly ReleasedDelivery[]): Promise<void> {
    return retryForever(
      () => this.claims.releaseLeases(set),
      (err) =>
        this.logger.warn({ err, deliveries: set.length }, 'lease release failed; it is retried until it succeeds'),
    );
  }
}
