import { Inject, Injectable } from '@nestjs/common';
import { MaintainPartitionsJob } from '@rmm/persistence';
import { DISPATCHER_CONFIG, type DispatcherConfig } from '../config.js';
import { DeliveryRetentionRepository } from './delivery-retention.repository.js';

/** Deletes old deliveries by dropping the partitions of whole days, never row by row. */
@Injectable()
export class DeliveryRetentionService {
  constructor(
    private readonly repository: DeliveryRetentionRepository,
    private readonly partitions: MaintainPartitionsJob,
    @Inject(DISPATCHER_CONFIG) private readonly config: DispatcherConfig,
  ) {}

  /** Applies the configured retention to the partition rules and runs the partition maintenance once. */
  async apply(): Promise<void> {
    await this.repository.setDays(this.config.deliveryRetentionDays);
    await this.partitions.run();
  }
}
