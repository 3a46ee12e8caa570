import { z } from 'zod';
import type { PartnerState } from '../integration-events/partner.events.js';
import { uuid } from './fields.js';
import { replyOf, rpc, type RpcReply, type RpcRequest } from './rpc-contract.js';

/** Returns the partners that exist, for a directory that does not know them yet. */
export const IDENTITY_PARTNERS_GET = rpc('identity.partners.get', {
  request: z.object({ partnerIds: z.array(uuid).max(1_000) }),
  reply: replyOf<{ partners: PartnerState[] }>(),
  idempotent: true,
});

/** Returns the partners after an id, ordered by it: directories are compared with this list. */
export const IDENTITY_PARTNERS_LIST_SINCE = rpc('identity.partners.list-since', {
  request: z.object({ after: uuid.nullable(), limit: z.int().min(1).max(1_000) }),
  reply: replyOf<{ partners: PartnerState[]; next: string | null }>(),
  timeoutMs: 10_000,
  idempotent: true,
});
export type PartnersSinceRequest = RpcRequest<typeof IDENTITY_PARTNERS_LIST_SINCE>;
export type PartnersSince = RpcReply<typeof IDENTITY_PARTNERS_LIST_SINCE>;
