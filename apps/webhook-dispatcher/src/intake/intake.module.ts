import { Module } from '@nestjs/common';
import { ReplicasModule } from '../replicas/replicas.module.js';
import { SendingModule } from '../sending/sending.module.js';
import { SubscriptionsModule } from '../subscriptions/subscriptions.module.js';
import { EventForwarderService } from './event-forwarder.service.js';
import { EventIntakeConsumer } from './event-intake.consumer.js';
import { FanOutWriterService } from './fan-out-writer.service.js';

@Module({
  imports: [ReplicasModule, SendingModule, SubscriptionsModule],
  providers: [EventForwarderService, EventIntakeConsumer, FanOutWriterService],
  exports: [EventIntakeConsumer, FanOutWriterService],
})
export class IntakeModule {}
