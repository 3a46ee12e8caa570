import { rpc } from './rpc-contract.js';

/** Other services ask identity to send mail. `idempotencyKey` makes a repeat harmless. */
export interface MailSendRequest {
  /** 1 to 255 characters. */
  idempotencyKey: string;
  to: string[];
  /** One that is open to other services: `api-key-expiring`. */
  template: string;
  values: Record<string, string>;
}

/** @returns false where this installation sends no mail */
export const IDENTITY_MAIL_SEND = rpc<MailSendRequest, { accepted: boolean }>('identity.mail.send');
