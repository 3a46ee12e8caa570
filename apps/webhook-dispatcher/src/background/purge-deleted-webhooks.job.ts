import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Job } from '@rmm/service-kit';
import { BackgroundJobsService } from './background-jobs.service.js';
import { PurgeRepository } from './purge.repository.js';

/** Leaves the database to others between two chunks. */
const PAUSE_MS = 50;
/** After this time other jobs run. */
const RUN_MS = 20_000;

/** Deletes the deliveries of deleted webhooks, which may be millions. */
@Injectable()
export class PurgeDeletedWebhooksJob {
  constructor(
    private readonly repository: PurgeRepository,
    private readonly jobs: BackgroundJobsService,
  ) {
    jobs.register('purge-webhook', (webhookId) => this.purge(webhookId));
  }

  @Job({ name: 'purge-deleted-webhooks', everyMs: 60_000 })
  async run(): Promise<void> {
    for (const webhookId of await this.repository.listDeleted()) await this.start(webhookId);
  }

  /** Has the history of a deleted webhook purged by a job. */
  async start(webhookId: string): Promise<void> {
    await this.jobs.add('purge-webhook', webhookId);
  }

  /** @returns whether history is left */
  private async purge(webhookId: string): Promise<boolean> {
    const endMs = performance.now() + RUN_MS;
    while (await this.repository.purgeChunk(webhookId)) {
      if (this.jobs.isStopping || performance.now() > endMs) return true;
      await sleep(PAUSE_MS);
    }
    await this.repository.finish(webhookId);
    return false;
  }
}
