import { Injectable } from '@nestjs/common';
import type { MailSendRequest } from '@rmm/contracts';
import { WorkerDatabase } from '@rmm/persistence';
import { BadRequestError } from '@rmm/service-kit';
import { MailAudienceRepository } from './mail-audience.repository.js';
import { MailOutbox, type NewMail } from './mail-outbox.service.js';

/** Templates that other services may use: none of them contains a link that signs a user in. */
const OPEN = ['api-key-expiring', 'webhook-failed'] as const;

/** Sends mails on behalf of other services. */
@Injectable()
export class MailRequestsService {
  constructor(
    private readonly mail: MailOutbox,
    private readonly audience: MailAudienceRepository,
    private readonly worker: WorkerDatabase,
  ) {}

  /** @throws BadRequestError for a template that other services may not use */
  async send(request: MailSendRequest): Promise<{ accepted: boolean }> {
    const { idempotencyKey, to, template: name, values } = request;
    const template = OPEN.find((open) => open === name);
    if (!template) throw new BadRequestError(undefined, { message: `No mail "${name}" for other services` });
    if (!this.mail.canSend) return { accepted: false };
    const audience = request.audience ? await this.audience.list(request.audience) : [];
    const mails = [
      ...to.map((email) => ({ to: email, values })),
      ...audience.map(({ email, name }) => ({ to: email, values: { ...values, name } })),
    ];
    await this.worker.transaction(async (tx) => {
      for (const mail of mails) {
        const key = `${idempotencyKey}:${mail.to}`;
        // The contract does not relate templates and values: a missing value is rendered as an empty text.
        await this.mail.add(tx, { ...mail, template, idempotencyKey: key } as NewMail);
      }
    });
    return { accepted: true };
  }
}
