import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkerDatabase } from '@rmm/persistence';
import { Job, Logger } from '@rmm/service-kit';
import { BackgroundJobsService } from '../background/background-jobs.service.js';
import { maxAttemptsOf } from '../sending/retry-delay.js';
import { RetrySchedulerService } from '../sending/retry-scheduler.service.js';
import { RecoveryRepository } from './recovery.repository.js';

/** Deliveries per transaction, which keeps the webhook from being changed for some tens of milliseconds. */
const CHUNK = 1_000;
/** Leaves the database to others between two chunks. */
const PAUSE_MS = 10;

/**
 * Sends the failed deliveries of accepted recoveries again. Each chunk moves the position of its recovery in the same
 * transaction, so that a job may run twice, at the same time or after a crash, and sends nothing twice.
 */
@Injectable()
export class RecoverWebhooksJob {
  constructor(
    private readonly repository: RecoveryRepository,
    private readonly worker: WorkerDatabase,
    private readonly jobs: BackgroundJobsService,
    private readonly scheduler: RetrySchedulerService,
    private readonly logger: Logger,
  ) {
    jobs.register('recover-webhook', (id) => this.recover(id));
  }

  /** Finds the recoveries whose job was lost. */
  @Job({ name: 'recover-webhooks', everyMs: 30_000 })
  async run(): Promise<void> {
    for (const id of await this.repository.listPending()) await this.start(id);
  }

  /** Has a recovery done by a job; without Redis this replica does it. Never rejects. */
  async start(id: string): Promise<void> {
    if (await this.jobs.add('recover-webhook', id)) return;
    await this.recover(id).catch((err: unknown) =>
      this.logger.warn({ err, recoveryId: id }, 'recovery failed; it is repeated within half a minute'),
    );
  }

  private async recover(id: string): Promise<void> {
    while (!this.jobs.isStopping && (await this.recoverChunk(id))) await sleep(PAUSE_MS);
  }

  /** @returns whether more is left to do */
  private recoverChunk(id: string): Promise<boolean> {
    return this.worker.transaction(async (tx) => {
      const recovery = await this.repository.lock(tx, id);
      if (!recovery) return false;
      const { webhookId, partnerId, orgId, status } = recovery;
      if (status !== 'active') {
        await this.repository.delete(tx, id);
        this.logger.info({ webhookId, recoveryId: id }, 'recovery ended: its webhook is not active any more');
        return false;
      }
      const maxAttempts = maxAttemptsOf(recovery);
      const { accepted, isLeft } = await this.repository.repeatChunk(tx, recovery, { maxAttempts, readLimit: CHUNK });
      if (accepted > 0) tx.afterCommit(() => this.scheduler.notifyDue({ id: webhookId, partnerId, orgId }));
      return isLeft;
    });
  }
}
