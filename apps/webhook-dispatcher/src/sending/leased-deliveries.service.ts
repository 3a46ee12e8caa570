import { Injectable } from '@nestjs/common';
import type { LeasedDelivery } from './leased-delivery.js';

/** What this process knows that it holds: waiting, under way, or with an outcome that is not written yet. */
@Injectable()
export class LeasedDeliveriesService {
  private readonly byId = new Map<string, LeasedDelivery>();

  add(delivery: LeasedDelivery): void {
    this.byId.set(delivery.id, delivery);
  }

  has(id: string): boolean {
    return this.byId.has(id);
  }

  /** Its outcome stands in the table, or it has gone back. One that was claimed anew meanwhile stays. */
  delete(delivery: LeasedDelivery): void {
    if (this.byId.get(delivery.id) === delivery) this.byId.delete(delivery.id);
  }
}
