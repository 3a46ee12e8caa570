import { Module } from '@nestjs/common';
import { SendingModule } from '../sending/sending.module.js';
import { SubscriptionsModule } from '../subscriptions/subscriptions.module.js';
import { EventIntakeConsumer } from './event-intake.consumer.js';
import { IntakeWriterService } from './intake-writer.service.js';
import { IntakeRepository } from './intake.repository.js';

@Module({
  imports: [SendingModule, SubscriptionsModule],
  providers: [EventIntakeConsumer, IntakeRepository, IntakeWriterService],
  exports: [EventIntakeConsumer],
})
export class IntakeModule {}
