import { Module } from '@nestjs/common';
import { SendingModule } from '../sending/sending.module.js';
import { SubscriptionsModule } from '../subscriptions/subscriptions.module.js';
import { EventIntake } from './event-intake.js';
import { IntakeWriter } from './intake-writer.js';
import { IntakeRepository } from './intake.repository.js';

@Module({
  imports: [SendingModule, SubscriptionsModule],
  providers: [EventIntake, IntakeRepository, IntakeWriter],
  exports: [EventIntake],
})
export class IntakeModule {}
