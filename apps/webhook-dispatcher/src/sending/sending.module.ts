import { Module } from '@nestjs/common';
import { AttemptLogModule } from '../attempt-log/attempt-log.module.js';
import { AutoFailModule } from '../auto-fail/auto-fail.module.js';
import { BackgroundQueuesModule } from '../background-queues/background-queues.module.js';
import { SubscriptionsModule } from '../subscriptions/subscriptions.module.js';
import { Attempts } from './attempts.js';
import { Backlog } from './backlog.js';
import { Breakers } from './breaker/breakers.js';
import { ClaimsRepository } from './claims.repository.js';
import { InstanceLease } from './instance-lease.js';
import { LeaseReleases } from './lease-releases.js';
import { LeasedDeliveries } from './leased-deliveries.js';
import { OrphanedLeases } from './orphaned-leases.js';
import { OutcomeWriter } from './outcome-writer.js';
import { OutcomesRepository } from './outcomes.repository.js';
import { RetryFlow } from './retry-flow.js';
import { RetryPace } from './retry-pace.js';
import { Sender } from './sender.js';
import { Replicas } from './shards/replicas.js';
import { Shards } from './shards/shards.js';
import { ShardsRepository } from './shards/shards.repository.js';
import { Sweeper } from './sweeper.js';

@Module({
  imports: [AttemptLogModule, AutoFailModule, BackgroundQueuesModule, SubscriptionsModule],
  providers: [
    Attempts,
    Backlog,
    Breakers,
    ClaimsRepository,
    InstanceLease,
    LeaseReleases,
    LeasedDeliveries,
    OrphanedLeases,
    OutcomeWriter,
    OutcomesRepository,
    Replicas,
    RetryFlow,
    RetryPace,
    Sender,
    Shards,
    ShardsRepository,
    Sweeper,
  ],
  exports: [
    Backlog,
    InstanceLease,
    LeaseReleases,
    OutcomeWriter,
    Replicas,
    RetryFlow,
    RetryPace,
    Sender,
    Shards,
    Sweeper,
  ],
})
export class SendingModule {}
