import { z } from 'zod';
import type { OrganizationSecurity } from '../integration-events/security-policy.events.js';
import { actingUserSchema } from './acting-caller.contract.js';
import { uuid } from './fields.js';
import { replyOf, rpc, type RpcRequest } from './rpc-contract.js';

/**
 * Changes `settings.security` of an organization. The calling service has checked that the organization exists, or chosen
 * the id of one that it is about to create: its policy is stored before any user can use it. Identity
 * checks the session of the caller and validates the policy itself.
 * Fails with 400 `validation_failed` or `mfa_no_method_available`, 401 `invalid_token`, 403 `permission_denied` or `mfa_required`, 404 `not_found`, 409
 * `mfa_policy_would_lock_out_users`, 412 `precondition_failed`; nothing is stored then.
 */
export const IDENTITY_SECURITY_POLICY_APPLY = rpc('identity.security-policy.apply', {
  request: z.object({
    orgId: uuid,
    partnerId: uuid,
    orgName: z.string().max(255),
    /** True for an organization that does not exist yet. */
    isNew: z.boolean().optional(),
    /** The field as received: an absent field stays as it is, null clears it, null as a whole clears all. */
    security: z.unknown(),
    /** The version that must be stored for the change, 0 for none; for a request with `If-Match`. */
    ifVersion: z.number().int().nonnegative().optional(),
    /** Identity resolves the user, the permission and the second factor by the session. */
    caller: actingUserSchema,
    /** Address and agent of the HTTP request, for the audit entry. */
    ipAddress: z.string().max(64).nullable(),
    userAgent: z.string().max(8_192).nullable(),
  }),
  reply: replyOf<{ security: OrganizationSecurity; version: number }>(),
  timeoutMs: 10_000,
});
export type ApplySecurityPolicyRequest = RpcRequest<typeof IDENTITY_SECURITY_POLICY_APPLY>;
