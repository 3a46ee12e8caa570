import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import nodemailer, { type Transporter } from 'nodemailer';
import { Clock } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { RenderedMail } from './mail-templates.js';

/** Milliseconds; their sum is shorter than the lease of a mail. */
const TIMEOUTS = { dnsTimeout: 10_000, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };

/** Sends a rendered mail by SMTP, or in development writes it to the mailbox folder as a JSON file. */
@Injectable()
export class MailTransport {
  private smtp?: Transporter;

  constructor(
    private readonly clock: Clock,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** True when this installation sends mails, or writes them to the mailbox folder of development. */
  get canSend(): boolean {
    return this.config.mail.smtpUrl !== undefined || this.config.mail.mailboxDir !== undefined;
  }

  /** @throws when the server refuses the mail or is unreachable, or when nothing to send it by is configured */
  async send(to: string, mail: RenderedMail): Promise<void> {
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
