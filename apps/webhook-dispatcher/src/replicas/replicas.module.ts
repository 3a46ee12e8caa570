import { Module } from '@nestjs/common';
import { PartitionLeaseManagerService } from './partition-lease-manager.service.js';
import { PartitionLeasesRepository } from './partition-leases.repository.js';
import { ReplicaSignalsService } from './replica-signals.service.js';

@Module({
  providers: [PartitionLeaseManagerService, PartitionLeasesRepository, ReplicaSignalsService],
  exports: [PartitionLeaseManagerService, ReplicaSignalsService],
})
export class ReplicasModule {}
