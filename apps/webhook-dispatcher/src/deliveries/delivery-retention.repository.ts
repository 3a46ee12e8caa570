import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';

@Injectable()
export class DeliveryRetentionRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Sets after how many days the partitions of deliveries, attempts, bodies and dead letters are dropped. */
  async setDays(days: number): Promise<void> {
    await this.worker.query('SELECT set_delivery_retention(:days)', { days });
  }
}
