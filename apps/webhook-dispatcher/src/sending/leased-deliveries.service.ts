import { Injectable } from '@nestjs/common';
import type { LeasedDelivery } from './leased-delivery.types.js';

/** The deliveries this replica leases and has in memory: queued, in flight, or with an outcome that is not written. */
@Injectable()
export class LeasedDeliveriesService {
  private readonly byId = new Map<string, LeasedDelivery>();

  add(delivery: LeasedDelivery): void {
    this.byId.set(delivery.id, delivery);
  }

  has(id: string): boolean {
    return this.byId.has(id);
  }

  /** Removes a delivery whose outcome or release is stored, unless it has been claimed again since. */
  delete(delivery: LeasedDelivery): void {
    if (this.byId.get(delivery.id) === delivery) this.byId.delete(delivery.id);
  }
}
