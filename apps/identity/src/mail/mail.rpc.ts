import { Controller } from '@nestjs/common';
import { IDENTITY_MAIL_SEND, type MailSendRequest } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { MailService } from './mail.service.js';

/** Mail requests of other services. */
@Controller()
export class MailRpc {
  constructor(private readonly mail: MailService) {}

  @RpcHandler(IDENTITY_MAIL_SEND)
  send(request: MailSendRequest): Promise<{ accepted: boolean }> {
    return this.mail.send(request);
  }
}
