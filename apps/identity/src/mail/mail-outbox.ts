import { randomUUID } from 'node:crypto';
import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import { jobContext, type OutboxTransaction } from '@rmm/messaging';
import { KeyRing } from '@rmm/secrets';
import { Logger } from '@rmm/service-kit';
import type { Queue } from 'bullmq';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { TemplateName } from './templates.js';

export const MAIL_QUEUE = 'identity-mail';
export const SEND_JOB = 'send';
/** As the locale of a row. */
const RECIPIENTS_OWN = '';

export interface MailJob {
  mailId: string;
  requestId: string;
  traceparent?: string;
}

export interface NewMail {
  to: string;
  template: TemplateName;
  /** Sealed at rest: links carry tokens. */
  values: Record<string, string>;
  /** A BCP 47 tag; without it the recipient's own is looked up as the mail leaves. */
  locale?: string;
  /** A mail with a key that is known already is not sent again; for the worker's transactions only. */
  idempotencyKey?: string;
}

const INSERT = `
  insert into mail (id, recipient, template, locale, values_sealed, idempotency_key) values ($1, $2, $3, $4, $5, $6)`;

export const mailSealContext = (mailId: string) => `mail.values:${mailId}`;

/**
 * Mails to be sent. The row is written in the transaction that calls for it and is the truth; the job only says
 * "now" and holds its id, so a queue that is down delays a mail and loses none.
 */
@Injectable()
export class MailOutbox {
  constructor(
    @InjectQueue(MAIL_QUEUE) private readonly queue: Queue<MailJob>,
    private readonly keyRing: KeyRing,
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {
    queue.on('error', () => undefined); // RedisConnections has logged it
  }

  /** True when mails leave this installation, or land in the mailbox of development. */
  get canSend(): boolean {
    return this.config.mail.smtpUrl !== undefined || this.config.mail.mailboxDir !== undefined;
  }

  /** Nothing is stored where mail cannot be sent. */
  async add(tx: OutboxTransaction, mail: NewMail): Promise<void> {
    if (!this.canSend) return;
    const { to, template, values, locale = RECIPIENTS_OWN, idempotencyKey = null } = mail;
    const id = randomUUID();
    const sealed = this.keyRing.seal(JSON.stringify(values), mailSealContext(id));
    const row = [id, to, template, locale, sealed, idempotencyKey];
    if (idempotencyKey === null) await tx.query(INSERT, row);
    // the service's own login may write mails but not read them, so only the worker can say whether one was new
    else if ((await tx.query(`${INSERT} on conflict (idempotency_key) do nothing returning id`, row)).length === 0)
      return;
    tx.afterCommit(() => this.wake(id));
  }

  /** Asks a worker to look at a mail now; a failure is left to the sweep. */
  wake(mailId: string): void {
    this.queue
      .add(SEND_JOB, { mailId, ...jobContext() }, { removeOnComplete: true, removeOnFail: true })
      .catch((err: unknown) => this.logger.warn({ err, mailId }, 'A mail could not be queued; the sweep will find it'));
  }
}
