import { Module } from '@nestjs/common';
import { AttemptLogModule } from '../attempt-log/attempt-log.module.js';
import { ReplicasModule } from '../replicas/replicas.module.js';
import { SubscriptionsModule } from '../subscriptions/subscriptions.module.js';
import { BreakersService } from './breakers.service.js';
import { DeliveryAttemptsService } from './delivery-attempts.service.js';
import { ExpireDeliveriesJob } from './expire-deliveries.job.js';
import { ExpiredDeliveriesRepository } from './expired-deliveries.repository.js';
import { OpenDeliveriesRepository } from './open-deliveries.repository.js';
import { OutcomeBatcherService } from './outcome-batcher.service.js';
import { OutcomesRepository } from './outcomes.repository.js';
import { RetrySchedulerService } from './retry-scheduler.service.js';
import { SenderService } from './sender.service.js';

@Module({
  imports: [AttemptLogModule, ReplicasModule, SubscriptionsModule],
  providers: [
    BreakersService,
    DeliveryAttemptsService,
    ExpireDeliveriesJob,
    ExpiredDeliveriesRepository,
    OpenDeliveriesRepository,
    OutcomeBatcherService,
    OutcomesRepository,
    RetrySchedulerService,
    SenderService,
  ],
  exports: [OpenDeliveriesRepository, OutcomeBatcherService, RetrySchedulerService, SenderService],
})
export class SendingModule {}
