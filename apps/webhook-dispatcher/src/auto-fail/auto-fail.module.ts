import { Module } from '@nestjs/common';
import { BackgroundModule } from '../background/background.module.js';
import { AutoFailRepository } from './auto-fail.repository.js';
import { FailDeadWebhooksJob } from './fail-dead-webhooks.job.js';

@Module({
  imports: [BackgroundModule],
  providers: [FailDeadWebhooksJob, AutoFailRepository],
  exports: [FailDeadWebhooksJob],
})
export class AutoFailModule {}
