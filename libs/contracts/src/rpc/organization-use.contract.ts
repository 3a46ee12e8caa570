import { z } from 'zod';
import { actingUserSchema } from './acting-caller.contract.js';
import { uuid } from './fields.js';
import { replyOf, rpc, type RpcRequest } from './rpc-contract.js';

/** Returns which of the organizations have records in the service that is asked. */
const inUse = (service: string) =>
  rpc(`${service}.organizations.in-use`, {
    request: z.object({
      /** Row-level security of the callee applies to it, so the caller learns nothing that it may not read. */
      caller: actingUserSchema,
      partnerId: uuid,
      orgIds: z.array(uuid).max(1_000),
    }),
    reply: replyOf<{ orgIds: string[] }>(),
    timeoutMs: 5_000,
    idempotent: true,
  });

/** Members, invitations, roles, login providers and SCIM tokens. */
export const IDENTITY_ORGANIZATIONS_IN_USE = inUse('identity');
/** API keys, service principals and enrollment keys, revoked and expired ones included. */
export const CREDENTIALS_ORGANIZATIONS_IN_USE = inUse('credentials');
/** Webhooks. */
export const WEBHOOK_DISPATCHER_ORGANIZATIONS_IN_USE = inUse('webhook-dispatcher');
export type OrganizationsInUseRequest = RpcRequest<typeof IDENTITY_ORGANIZATIONS_IN_USE>;
