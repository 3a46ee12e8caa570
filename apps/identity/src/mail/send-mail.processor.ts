import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject, type OnApplicationBootstrap } from '@nestjs/common';
import type { Job } from 'bullmq';
import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import nodemailer, { type Transporter } from 'nodemailer';
import { runJob } from '@rmm/messaging';
import { KeyRing } from '@rmm/secrets';
import { Clock, Logger } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { isMailTemplate, renderMail, type RenderedMail } from './mail-templates.js';
import { MailMetrics } from './mail.metrics.js';
import { MailRepository, type LeasedMail } from './mail.repository.js';
import { MAIL_QUEUE, MailService, mailSealContext, type MailJob } from './mail.service.js';

/** Milliseconds; their sum is shorter than the lease of a mail. */
const TIMEOUTS = { dnsTimeout: 10_000, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };

/**
 * Sends the mail of a job unless it was sent already: by SMTP, or in development to the mailbox folder as a JSON file. A
 * repeated job is harmless. A replica without a way to send takes no jobs: others would wait for the mails that it took.
 */
@Processor(MAIL_QUEUE, { concurrency: 4, autorun: false })
export class SendMailProcessor extends WorkerHost implements OnApplicationBootstrap {
  private smtp?: Transporter;

  constructor(
    private readonly mails: MailRepository,
    private readonly metrics: MailMetrics,
    private readonly service: MailService,
    private readonly keyRing: KeyRing,
    private readonly clock: Clock,
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {
    super();
  }

  onApplicationBootstrap(): void {
    if (this.service.canSend) void this.worker.run().catch((error: Error) => this.worker.emit('error', error));
  }

  override process({ data }: Job<MailJob>): Promise<void> {
    return runJob('mail', data, () => this.send(data.mailId));
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
      await this.deliver(mail.recipient, this.render(mail));
      await this.mails.markSent(mail.id);
      this.metrics.countAttempt('sent');
    } catch (err) {
      this.logger.warn(
        { err, mailId, attempts: mail.attempts },
        'mail could not be sent; it is tried again later, eight times at most',
      );
      const abandoned = await this.mails.markFailed(mail.id, err instanceof Error ? err.message : String(err));
      this.metrics.countAttempt(abandoned ? 'abandoned' : 'failed');
    }
  }

  private render({ id, template, locale, valuesSealed }: LeasedMail): RenderedMail {
    if (!isMailTemplate(template)) throw new Error(`No mail template "${template}"`);
    const values = JSON.parse(this.keyRing.open(valuesSealed, mailSealContext(id))) as Record<string, string>;
    return renderMail(template, values, { locale, appUrl: this.config.publicAppUrl });
  }

  /** @throws when the server refuses the mail or is unreachable, or when nothing to send it by is configured */
  private async deliver(to: string, mail: RenderedMail): Promise<void> {
    const { smtpUrl, requireTls, mailboxDir, from } = this.config.mail;
    if (smtpUrl !== undefined) {
      const safety = { disableFileAccess: true, disableUrlAccess: true };
      this.smtp ??= nodemailer.createTransport({ url: smtpUrl, requireTLS: requireTls, ...TIMEOUTS, ...safety });
      await this.smtp.sendMail({ from, to: { name: '', address: to }, ...mail }); // an address object is not parsed as a list of addresses
    } else if (mailboxDir !== undefined) {
      await this.writeFile(mailboxDir, to, mail);
    } else {
      throw new Error('neither SMTP_URL nor MAILBOX_DIR is set');
    }
  }

  /** Writes a temporary file and renames it, so that readers never see a partial file. */
  private async writeFile(folder: string, to: string, mail: RenderedMail): Promise<void> {
    const id = randomUUID();
    const sentAt = this.clock.now().toISOString();
    const file = join(folder, `${sentAt}-${id}.json`);
    await mkdir(folder, { recursive: true });
    await writeFile(`${file}.part`, JSON.stringify({ id, channel: 'email', to, ...mail, sentAt }, null, 2));
    await rename(`${file}.part`, file);
  }
}
