import { z } from 'zod';
import { uuid } from './fields.js';
import { replyOf, rpc, type RpcRequest } from './rpc-contract.js';

/**
 * The active members of an organization who are granted a permission there, or the active administrators of its partner
 * when no member is, or when no organization is named. Identity resolves them, so that no other service handles addresses.
 */
const mailAudience = z.object({
  partnerId: uuid,
  orgId: uuid.nullable(),
  /** `organizations:write` */
  permission: z.templateLiteral([z.string(), ':', z.string()]),
});
export type MailAudience = z.infer<typeof mailAudience>;

/** Sends a mail for another service. The reply is `accepted: false` where this installation sends no mail. */
export const IDENTITY_MAIL_SEND = rpc('identity.mail.send', {
  request: z.object({
    /** A repeated request with the same key sends nothing. */
    idempotencyKey: z.string().min(1).max(255),
    to: z.array(z.string().max(255)).max(100),
    /** In addition to `to`. Each of these recipients is addressed by the value `name`. */
    audience: mailAudience.optional(),
    /** One that is open to other services: `api-key-expiring`, `webhook-failed`, `psa-sync-disabled`. */
    template: z.string().max(64),
    values: z.record(z.string().max(64), z.string().max(4_096)),
  }),
  reply: replyOf<{ accepted: boolean }>(),
});
export type MailSendRequest = RpcRequest<typeof IDENTITY_MAIL_SEND>;
