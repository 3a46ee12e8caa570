import { Module } from '@nestjs/common';
import { FailDeadWebhooksJob } from './fail-dead-webhooks.job.js';
import { AutoFailRepository } from './auto-fail.repository.js';

@Module({
  providers: [FailDeadWebhooksJob, AutoFailRepository],
  exports: [FailDeadWebhooksJob],
})
export class AutoFailModule {}
