import { Module } from '@nestjs/common';
import { AutoFailRepository } from './auto-fail.repository.js';
import { FailDeadWebhooksJob } from './fail-dead-webhooks.job.js';

@Module({
  providers: [FailDeadWebhooksJob, AutoFailRepository],
  exports: [FailDeadWebhooksJob],
})
export class AutoFailModule {}
