import { Injectable } from '@nestjs/common';
import type { ReplicaSignal } from '@rmm/contracts';
import { Broadcasts } from '@rmm/messaging';
import { InstanceLeaseService } from '../instance-lease.service.js';

/** A process came or goes, or a shard has no owner. */
const SHARDS_CHANGED = 'webhook.shards';
/** Deliveries that nobody holds are due, for somebody else to claim. */
const DELIVERIES_DUE = 'webhook.due';

/**
 * What the replicas tell each other, to be quicker than the next look at the table. Nothing depends on it: a call that
 * is not heard costs the time until that look.
 */
@Injectable()
export class ReplicaSignalsService {
  constructor(
    private readonly broadcasts: Broadcasts,
    private readonly lease: InstanceLeaseService,
  ) {}

  listen({ shardsChanged, due }: { shardsChanged: () => void; due: () => void }): void {
    const unlessOwn = (heard: () => void) => (message: { data: ReplicaSignal }) => {
      if (message.data.from !== this.lease.owner) heard();
    };
    this.broadcasts.subscribe(SHARDS_CHANGED, unlessOwn(shardsChanged));
    this.broadcasts.subscribe(DELIVERIES_DUE, unlessOwn(due));
  }

  shardsChanged(): void {
    this.broadcasts.publishNow(SHARDS_CHANGED, { from: this.lease.owner });
  }

  due(): void {
    this.broadcasts.publishNow(DELIVERIES_DUE, { from: this.lease.owner });
  }
}
