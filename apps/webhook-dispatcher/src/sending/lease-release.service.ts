import { Injectable } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import { ClaimsRepository } from './claims.repository.js';
import { LeasedDeliveriesService } from './leased-deliveries.service.js';
import type { LeasedDelivery } from './leased-delivery.js';
import { retryForever } from './retry-forever.js';
import { ReplicaSignalsService } from './shards/replica-signals.service.js';

const SET_ROWS = 500;

/** A held delivery that goes back to the table. */
export interface ReleasedDelivery {
  delivery: LeasedDelivery;
  /** Where it belongs; null leaves what stands there. */
  shard: number | null;
  /** It waits for its organization's turn, instead of for whoever comes first. */
  isInBacklog: boolean;
}

/**
 * Hands deliveries back that this process will not send, in sets. What cannot be written is tried again: nobody else
 * could claim it as long as we live.
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

  /** Ends when they stand in the table. */
  add(returned: readonly ReleasedDelivery[]): Promise<void> {
    for (const one of returned) this.waiting.push(one);
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
    // What comes in the same turn goes along.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const set = this.waiting.splice(0, SET_ROWS);
      await this.write(set);
      for (const { delivery } of set) this.leased.delete(delivery);
      if (set.some(({ isInBacklog }) => !isInBacklog)) this.replicas.due();
    }
  }

  private write(set: readonly ReleasedDelivery[]): Promise<void> {
    return retryForever(
      () => this.claims.releaseLeases(set),
      (err) => this.logger.warn({ err, deliveries: set.length }, 'Deliveries cannot be handed back yet'),
    );
  }
}
