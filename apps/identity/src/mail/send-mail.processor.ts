import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import type { OnApplicationBootstrap } from '@nestjs/common';
import type { Job } from 'bullmq';
import { runJob } from '@rmm/messaging';
import { KeyRing } from '@rmm/secrets';
import { Logger } from '@rmm/service-kit';
import { isMailTemplate, renderMail } from './mail-templates.js';
import { MailTransport } from './mail-transport.service.js';
import { MailRepository, type LeasedMail } from './mail.repository.js';
import { MAIL_QUEUE, mailSealContext, type MailJob } from './mail.service.js';

/**
 * Sends the mail of a job unless it was sent already. A repeated job is harmless. A replica without a way to send takes no
 * jobs: others would wait for the mails that it took.
 */
@Processor(MAIL_QUEUE, { concurrency: 4, autorun: false })
export class SendMailProcessor extends WorkerHost implements OnApplicationBootstrap {
  constructor(
    private readonly mails: MailRepository,
    private readonly transport: MailTransport,
    private readonly keyRing: KeyRing,
    private readonly logger: Logger,
  ) {
    super();
  }

  onApplicationBootstrap(): void {
    if (this.transport.canSend) void this.worker.run().catch((error: Error) => this.worker.emit('error', error));
  }

  override process({ data }: Job<MailJob>): Promise<void> {
    return runJob(data, () => this.send(data.mailId));
  }

  /** Without a listener BullMQ writes to the console. RedisConnections logs the outage. */
  @OnWorkerEvent('error')
  onError(): void {
    this.logger.debug('mail worker lost its connection to Redis; it reconnects');
  }

  private async send(mailId: string): Promise<void> {
    const mail = await this.mails.lease(mailId);
    if (!mail) return;
    try {
      await this.transport.send(mail.recipient, this.render(mail));
      await this.mails.markSent(mail.id);
    } catch (err) {
      this.logger.warn(
        { err, mailId, attempts: mail.attempts },
        'mail could not be sent; it is tried again later, eight times at most',
      );
      await this.mails.markFailed(mail.id, err instanceof Error ? err.message : String(err));
    }
  }

  private render({ id, template, locale, valuesSealed }: LeasedMail) {
    if (!isMailTemplate(template)) throw new Error(`No mail template "${template}"`);
    const values = JSON.parse(this.keyRing.open(valuesSealed, mailSealContext(id))) as Record<string, string>;
    return renderMail(template, values, locale);
  }
}
