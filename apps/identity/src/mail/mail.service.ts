import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { randomUUID } from 'node:crypto';
import type { MailSendRequest } from '@rmm/contracts';
import { jobContext, type OutboxTransaction } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { BadRequestError, Logger } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { MailTemplateName, MailVariables } from './mail-templates.js';
import { MailRepository, type NewMailRow } from './mail.repository.js';

export const MAIL_QUEUE = 'identity-mail';
export const SEND_JOB = 'send';
/** Stored as the locale of a mail whose recipient's locale is looked up when it is sent. */
const LOCALE_OF_RECIPIENT = '';

export interface MailJob {
  mailId: string;
  requestId: string;
  traceparent?: string;
}

interface MailOf<T extends MailTemplateName> {
  to: string;
  template: T;
  /** Sealed at rest: links contain tokens. */
  values: Readonly<Record<MailVariables[T], string>>;
  /** A BCP 47 tag; the recipient's is looked up when the mail is sent if absent. */
  locale?: string;
  /** A mail with a key that is stored already is not sent again; for transactions of the worker login only. */
  idempotencyKey?: string;
}

/** A mail to send. The template determines the values. */
export type NewMail = { [T in MailTemplateName]: MailOf<T> }[MailTemplateName];

/** Templates that other services may use: none of them contains a link that signs a user in. */
const OPEN_TEMPLATES = ['api-key-expiring', 'webhook-failed', 'psa-sync-disabled'] as const;

/** Returns the context that the values of a mail are sealed for. */
export const mailSealContext = (mailId: string) => `mail.values:${mailId}`;

/**
 * Stores mails to be sent, in the transaction of the change they report. The row is the source of truth; the job in
 * Redis only speeds up its sending, so an outage of the queue delays a mail and loses none.
 */
@Injectable()
export class MailService {
  constructor(
    private readonly repository: MailRepository,
    private readonly worker: WorkerDatabase,
    @InjectQueue(MAIL_QUEUE) private readonly queue: Queue<MailJob>,
    private readonly keyRing: KeyRing,
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {
    queue.on('error', () => undefined); // logged by RedisConnections
  }

  /** True when this installation sends mails, or writes them to the mailbox folder of development. */
  get canSend(): boolean {
    return this.config.mail.smtpUrl !== undefined || this.config.mail.mailboxDir !== undefined;
  }

  /** Stores a mail and queues it after the commit. Does nothing where mail cannot be sent. */
  async add(tx: OutboxTransaction, mail: NewMail): Promise<void> {
    if (!this.canSend) return;
    const row = this.toRow(mail);
    if (await this.repository.insert(tx, row)) tx.afterCommit(() => this.enqueue(row.id));
  }

  /** Stores mails without idempotency keys in one statement, and queues them after the commit; see `add`. */
  async addAll(tx: OutboxTransaction, mails: readonly NewMail[]): Promise<void> {
    if (!this.canSend || mails.length === 0) return;
    const rows = mails.map((mail) => this.toRow(mail));
    await this.repository.insertAll(tx, rows);
    tx.afterCommit(() => rows.forEach(({ id }) => this.enqueue(id)));
  }

  /**
   * Stores the mails that another service requests: to the addresses it names, and to its audience.
   * @throws BadRequestError for a template that other services may not use
   */
  async send(request: MailSendRequest): Promise<{ accepted: boolean }> {
    const { idempotencyKey, to, template: name, values } = request;
    const template = OPEN_TEMPLATES.find((open) => open === name);
    if (!template) throw new BadRequestError(undefined, { message: `No mail "${name}" for other services` });
    if (!this.canSend) return { accepted: false };
    const audience = request.audience ? await this.repository.listAudience(request.audience) : [];
    const mails = [
      ...to.map((email) => ({ to: email, values })),
      ...audience.map(({ email, name }) => ({ to: email, values: { ...values, name } })),
    ];
    await this.worker.transaction(async (tx) => {
      for (const mail of mails) {
        const key = `${idempotencyKey}:${mail.to}`;
        // The contract does not relate templates and values: a missing value is rendered as an empty text.
        await this.add(tx, { ...mail, template, idempotencyKey: key } as NewMail);
      }
    });
    return { accepted: true };
  }

  private toRow(mail: NewMail): NewMailRow {
    const { to, template, values, locale = LOCALE_OF_RECIPIENT, idempotencyKey = null } = mail;
    const id = randomUUID();
    const valuesSealed = this.keyRing.seal(JSON.stringify(values), mailSealContext(id));
    return { id, recipient: to, template, locale, valuesSealed, idempotencyKey };
  }

  /** Queues a mail to be sent now. A failure is logged only. */
  enqueue(mailId: string): void {
    const warn = (err: unknown) =>
      this.logger.warn({ err, mailId }, 'mail could not be queued; the sweep queues it again');
    this.queue.add(SEND_JOB, { mailId, ...jobContext() }, { removeOnComplete: true, removeOnFail: true }).catch(warn);
  }
}
