import { Controller } from '@nestjs/common';
import { IDENTITY_MAIL_SEND, type MailSendRequest } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { MailRequestsService } from './mail-requests.service.js';

/** Mail requests of other services. */
@Controller()
export class MailRpc {
  constructor(private readonly requests: MailRequestsService) {}

  @RpcHandler(IDENTITY_MAIL_SEND)
  send(request: MailSendRequest): Promise<{ accepted: boolean }> {
    return this.requests.send(request);
  }
}
