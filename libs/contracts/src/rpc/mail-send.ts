import { rpc } from './rpc-contract.js';

/** Other services ask identity to send mail. `idempotencyKey` makes a repeat harmless. */
export interface MailSendRequest {
  idempotencyKey: string;
  to: string[];
  template: string;
  values: Record<string, string>;
}

export const IDENTITY_MAIL_SEND = rpc<MailSendRequest, { accepted: boolean }>('identity.mail.send');
