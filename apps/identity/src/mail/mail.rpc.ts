import { Controller } from '@nestjs/common';
import { IDENTITY_MAIL_SEND, type MailSendRequest } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { BadRequestError } from '@rmm/service-kit';
import { MailAudienceRepository } from './mail-audience.repository.js';
import { MailOutbox } from './mail-outbox.js';
import type { TemplateName } from './templates.js';

/** Mails other services may ask for: none of them carries a link that lets somebody in. */
const OPEN: readonly TemplateName[] = ['api-key-expiring', 'webhook-failed'];

/** Sends mail for the other services. */
@Controller()
export class MailRpc {
  constructor(
    private readonly mail: MailOutbox,
    private readonly audience: MailAudienceRepository,
    private readonly worker: WorkerDatabase,
  ) {}

  /** @throws BadRequestError  for a template that is not open to other services */
  @RpcHandler(IDENTITY_MAIL_SEND)
  async send(request: MailSendRequest): Promise<{ accepted: boolean }> {
    const { idempotencyKey, to, template, values } = request;
    const open = OPEN.find((name) => name === template);
    if (!open) throw new BadRequestError(undefined, { message: `No mail "${template}" for other services` });
    if (!this.mail.canSend) return { accepted: false };
    const named = request.audience ? await this.audience.list(request.audience) : [];
    const mails = [
      ...to.map((email) => ({ email, values })),
      ...named.map(({ email, name }) => ({ email, values: { ...values, name } })),
    ];
    await this.worker.transaction(async (tx) => {
      for (const { email, values } of mails) {
        await this.mail.add(tx, { to: email, template: open, values, idempotencyKey: `${idempotencyKey}:${email}` });
      }
    });
    return { accepted: true };
  }
}
