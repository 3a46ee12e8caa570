import { Injectable } from '@nestjs/common';
import type { ReplicaSignal } from '@rmm/contracts';
import { Broadcasts } from '@rmm/messaging';
import { InstanceLeaseService } from '../instance-lease.service.js';

/** A replica started or stops, or a shard has no owner. */
const SHARDS_CHANGED = 'webhook.shards';
/** Deliveries are due that another replica has to claim. */
const DELIVERIES_DUE = 'webhook.due';

/** Broadcasts between replicas that make them read the table at once. A lost broadcast delays them to the next read. */
@Injectable()
export class ReplicaSignalsService {
  constructor(
    private readonly broadcasts: Broadcasts,
    private readonly lease: InstanceLeaseService,
  ) {}

  subscribe(listener: { onShardsChanged: () => void; onDeliveriesDue: () => void }): void {
    const unlessOwn = (handle: () => void) => (message: { data: ReplicaSignal }) => {
      if (message.data.from !== this.lease.owner) handle();
    };
    this.broadcasts.subscribe(SHARDS_CHANGED, unlessOwn(listener.onShardsChanged));
    this.broadcasts.subscribe(DELIVERIES_DUE, unlessOwn(listener.onDeliveriesDue));
  }

  publishShardsChanged(): void {
    this.broadcasts.publishNow(SHARDS_CHANGED, { from: this.lease.owner });
  }

  publishDeliveriesDue(): void {
    this.broadcasts.publishNow(DELIVERIES_DUE, { from: this.lease.owner });
  }
}
