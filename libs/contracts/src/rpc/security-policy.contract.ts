import { z } from 'zod';
import type { OrganizationSecurity } from '../integration-events/security-policy.events.js';
import { accessScope, uuid } from './fields.js';
import { replyOf, rpc, type RpcRequest } from './rpc-contract.js';

/**
 * Changes `settings.security` of an organization. The calling service has checked that the organization exists and that
 * the caller may write it; identity validates the policy itself.
 * Fails with 400 `validation_failed`, 403 `mfa_required` or 409 `mfa_policy_would_lock_out_users`; nothing is stored then.
 */
export const IDENTITY_SECURITY_POLICY_APPLY = rpc('identity.security-policy.apply', {
  request: z.object({
    orgId: uuid,
    partnerId: uuid,
    orgName: z.string(),
    /** The field as received: an absent field stays as it is, null clears it, null as a whole clears all. */
    security: z.unknown(),
    caller: z.object({
      userId: uuid,
      email: z.string(),
      scope: accessScope,
      partnerId: uuid.nullable(),
      orgId: uuid.nullable(),
      /** The claim of the token. */
      mfa: z.boolean(),
    }),
    /** Address and agent of the HTTP request, for the audit entry. */
    ipAddress: z.string().nullable(),
    userAgent: z.string().nullable(),
  }),
  reply: replyOf<{ security: OrganizationSecurity; version: number }>(),
  timeoutMs: 10_000,
});
export type ApplySecurityPolicyRequest = RpcRequest<typeof IDENTITY_SECURITY_POLICY_APPLY>;
