import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { AsyncResource } from 'node:async_hooks';
import { IDENTITY_MAIL_SEND } from '@rmm/contracts';
import { type AuditedCaller, AuditTrail, Outbox, RpcClient } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { Job, Logger, UnavailableError } from '@rmm/service-kit';
import { BackgroundJobsService } from '../background/background-jobs.service.js';
import { DISPATCHER_CONFIG, type DispatcherConfig } from '../config.js';
import { webhookChanged, webhookResource } from '../webhooks/webhook.mapper.js';
import { AutoFailRepository, type DueMail } from './auto-fail.repository.js';

const JOB = { name: 'fail-dead-webhooks', everyMs: 60_000 };
const SYSTEM: AuditedCaller = {
  actor: { type: 'system', id: null },
  tenant: { partnerId: null, orgId: null },
};

/**
 * Sets webhooks to `failed` whose receivers have accepted nothing for days, or responded 410 to the last attempt of a
 * delivery, and mails the users who can change them.
 * @see docs/reference/webhooks.md
 */
@Injectable()
export class FailDeadWebhooksJob implements OnModuleDestroy {
  private scheduled: Promise<void> = Promise.resolve();
  private isScheduled = false;

  /**
   * Schedules a run before the next interval, since a delivery ended with a 410. It runs in no context of the event or
   * request that the delivery is of: the audit entries of all webhooks that fail would name its origin.
   */
  readonly scheduleCheck = AsyncResource.bind((): void => {
    if (this.isScheduled) return;
    this.isScheduled = true;
    this.scheduled = this.scheduled.then(() => {
      this.isScheduled = false;
      return this.run().catch((err: unknown) =>
        this.logger.warn({ err, job: JOB.name }, 'job failed; it is tried again at its next interval'),
      );
    });
  });

  constructor(
    private readonly repository: AutoFailRepository,
    private readonly worker: WorkerDatabase,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly rpc: RpcClient,
    @Inject(DISPATCHER_CONFIG) private readonly config: DispatcherConfig,
    private readonly jobs: BackgroundJobsService,
    private readonly logger: Logger,
  ) {
    jobs.register('auto-fail-mails', () => this.sendMails());
  }

  async onModuleDestroy(): Promise<void> {
    await this.scheduled;
  }

  @Job(JOB)
  async run(): Promise<void> {
    await this.failWebhooks();
    const due = await this.repository.listDueMails();
    if (due.length === 0) return;
    // Without Redis this replica sends them itself: identity sends each once.
    if (!(await this.jobs.add('auto-fail-mails', 'due'))) await this.sendMails();
  }

  private async failWebhooks(): Promise<void> {
    await this.worker.transaction(async (tx) => {
      for (const webhook of await this.repository.failDeadWebhooks(tx, this.config.autoFailAfterHours)) {
        const { failingSince, isGone } = webhook;
        const details = { reason: isGone ? 'gone' : 'failing', failingSince: failingSince.toISOString() };
        await this.audit.record(tx, SYSTEM, 'webhook.auto_failed', webhookResource(webhook), details);
        await this.outbox.publish(tx, webhookChanged(webhook));
      }
    });
  }

  /** A refused mail does not hold up the later ones. @throws UnavailableError when identity cannot be reached */
  private async sendMails(): Promise<void> {
    for (const mail of await this.repository.listDueMails()) {
      try {
        await this.sendMail(mail);
      } catch (err) {
        if (err instanceof UnavailableError) throw err;
        this.logger.warn({ err, webhookId: mail.id }, 'the mail about a failed webhook was refused; it is sent later');
      }
    }
  }

  /** Identity sends a mail once per idempotency key, so a repeated request does no harm. */
  private async sendMail(mail: DueMail): Promise<void> {
    const { id, partnerId, orgId, name, organizationName, failingSince, failedAt } = mail;
    await this.rpc.call(IDENTITY_MAIL_SEND, {
      idempotencyKey: `webhook-failed:${id}:${failedAt.toISOString()}`,
      to: [],
      audience: { partnerId, orgId, permission: 'organizations:write' },
      template: 'webhook-failed',
      values: {
        webhookName: name,
        organizationName,
        failingSince: `${failingSince.toISOString().slice(0, 16).replace('T', ' ')} UTC`,
      },
    });
    await this.repository.markMailed(mail);
  }
}
