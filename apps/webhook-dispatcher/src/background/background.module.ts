import { Module } from '@nestjs/common';
import { BackgroundJobsService } from './background-jobs.service.js';
import { PurgeDeletedWebhooksJob } from './purge-deleted-webhooks.job.js';
import { PurgeRepository } from './purge.repository.js';

/** Work that no request and no delivery waits for, as jobs in Redis. The tables list what is left to do as well. */
@Module({
  providers: [BackgroundJobsService, PurgeDeletedWebhooksJob, PurgeRepository],
  exports: [BackgroundJobsService, PurgeDeletedWebhooksJob],
})
export class BackgroundModule {}
