import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { IDENTITY_MAIL_SEND } from '@rmm/contracts';
import { type AuditedCaller, AuditTrail, Outbox, RpcClient } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { Job, Logger } from '@rmm/service-kit';
import { webhookChanged } from '../webhooks/webhook-changed.js';
import { AutoFailRepository, type DueMail } from './auto-fail.repository.js';

const JOB = { name: 'fail-dead-webhooks', everyMs: 60_000 };
const THE_SERVICE: AuditedCaller = {
  actor: { type: 'system', id: null },
  tenant: { partnerId: null, orgId: null },
};

/**
 * Sets webhooks to `failed` whose receivers have accepted nothing for days, or answered 410 to the last attempt of a
 * delivery, and has those told who can do something about it.
 * @see CONTRACT.md 4.9
 */
@Injectable()
export class FailDeadWebhooksJob implements OnModuleDestroy {
  private asked: Promise<void> = Promise.resolve();
  private isAsked = false;

  constructor(
    private readonly repository: AutoFailRepository,
    private readonly worker: WorkerDatabase,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly rpc: RpcClient,
    private readonly logger: Logger,
  ) {}

  async onModuleDestroy(): Promise<void> {
    await this.asked;
  }

  @Job(JOB)
  async run(): Promise<void> {
    await this.fail();
    for (const mail of await this.repository.dueMails()) await this.tell(mail);
  }

  /** A delivery has ended on 410: no need to wait for the next turn. */
  gone(): void {
    if (this.isAsked) return;
    this.isAsked = true;
    this.asked = this.asked.then(() => {
      this.isAsked = false;
      return this.run().catch((err: unknown) =>
        this.logger.warn({ err, job: JOB.name }, 'job failed; it is tried again at its next interval'),
      );
    });
  }

  private async fail(): Promise<void> {
    await this.worker.transaction(async (tx) => {
      for (const webhook of await this.repository.fail(tx)) {
        const { id, name, orgId, partnerId, failingSince, isGone } = webhook;
        await this.audit.record(
          tx,
          THE_SERVICE,
          'webhook.auto_failed',
          { type: 'webhook', id, name, orgId, partnerId },
          { reason: isGone ? 'gone' : 'failing', failingSince: failingSince.toISOString() },
        );
        await this.outbox.publish(tx, webhookChanged(webhook));
      }
    });
  }

  /** Identity takes a mail once, however often it is asked. */
  private async tell(mail: DueMail): Promise<void> {
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
