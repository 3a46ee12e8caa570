import { rpc } from './rpc-contract.js';

/**
 * The active members of an organization who hold a permission there; when there is nobody, the active administrators of
 * its partner. Identity resolves it, so that no other service handles addresses.
 */
export interface MailAudience {
  partnerId: string;
  orgId: string;
  /** `organizations:write` */
  permission: `${string}:${string}`;
}

/** Other services ask identity to send mail. `idempotencyKey` makes a repeat harmless. */
export interface MailSendRequest {
  /** 1 to 255 characters. */
  idempotencyKey: string;
  to: string[];
  /** Beside `to`. Each of them is addressed by the value `name`. */
  audience?: MailAudience;
  /** One that is open to other services: `api-key-expiring`, `webhook-failed`. */
  template: string;
  values: Record<string, string>;
}

/** @returns false where this installation sends no mail */
export const IDENTITY_MAIL_SEND = rpc<MailSendRequest, { accepted: boolean }>('identity.mail.send');
