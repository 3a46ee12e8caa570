import { Injectable } from '@nestjs/common';
import { PartitionMaintenanceJob, WorkerDatabase } from '@rmm/persistence';
import { DispatcherConfig } from '../config.js';

/** How long deliveries, bodies and dead letters are kept: by dropping whole days, never row by row. */
@Injectable()
export class DeliveryRetentionService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly upkeep: PartitionMaintenanceJob,
    private readonly config: DispatcherConfig,
  ) {}

  /** Tells the upkeep of partitions what the configuration says. */
  async start(): Promise<void> {
    await this.worker.query('select set_delivery_retention($1)', [this.config.deliveryRetentionDays]);
    await this.upkeep.run();
  }
}
