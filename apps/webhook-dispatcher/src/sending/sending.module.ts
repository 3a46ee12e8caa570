import { Module } from '@nestjs/common';
import { AttemptLogModule } from '../attempt-log/attempt-log.module.js';
import { AutoFailModule } from '../auto-fail/auto-fail.module.js';
import { BackgroundQueuesModule } from '../background-queues/background-queues.module.js';
import { SubscriptionsModule } from '../subscriptions/subscriptions.module.js';
import { BacklogService } from './backlog.service.js';
import { BreakersService } from './breaker/breakers.service.js';
import { ClaimsRepository } from './claims.repository.js';
import { DeliveryAttemptsService } from './delivery-attempts.service.js';
import { InstanceLeaseRepository } from './instance-lease.repository.js';
import { InstanceLeaseService } from './instance-lease.service.js';
import { LeaseReleaseService } from './lease-release.service.js';
import { LeasedDeliveriesService } from './leased-deliveries.service.js';
import { OrphanedLeasesService } from './orphaned-leases.service.js';
import { OutcomeWriterService } from './outcome-writer.service.js';
import { OutcomesRepository } from './outcomes.repository.js';
import { RetryPacingService } from './retry-pacing.service.js';
import { RetrySchedulingService } from './retry-scheduling.service.js';
import { SenderService } from './sender.service.js';
import { ReplicaSignalsService } from './shards/replica-signals.service.js';
import { ShardOwnershipService } from './shards/shard-ownership.service.js';
import { ShardsRepository } from './shards/shards.repository.js';
import { SweeperService } from './sweeper.service.js';

@Module({
  imports: [AttemptLogModule, AutoFailModule, BackgroundQueuesModule, SubscriptionsModule],
  providers: [
    DeliveryAttemptsService,
    BacklogService,
    BreakersService,
    ClaimsRepository,
    InstanceLeaseRepository,
    InstanceLeaseService,
    LeaseReleaseService,
    LeasedDeliveriesService,
    OrphanedLeasesService,
    OutcomeWriterService,
    OutcomesRepository,
    ReplicaSignalsService,
    RetrySchedulingService,
    RetryPacingService,
    SenderService,
    ShardOwnershipService,
    ShardsRepository,
    SweeperService,
  ],
  exports: [
    BacklogService,
    InstanceLeaseService,
    LeaseReleaseService,
    OutcomeWriterService,
    ReplicaSignalsService,
    RetrySchedulingService,
    RetryPacingService,
    SenderService,
    ShardOwnershipService,
    SweeperService,
  ],
})
export class SendingModule {}
