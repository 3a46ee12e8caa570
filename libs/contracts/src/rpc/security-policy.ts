import type { OrganizationSecurity } from '../integration-events/security-policy-events.js';
import type { AccessScope } from './access-resolve.js';
import { rpc } from './rpc-contract.js';

/**
 * Somebody changes `settings.security` of an organization. The asking service has made sure that the organization exists
 * within the caller's reach and that the caller may write it; identity judges the policy itself.
 */
export interface ApplySecurityPolicyRequest {
  orgId: string;
  partnerId: string;
  orgName: string;
  /** As it came over the wire: absent leaves a field alone, null clears it; null as a whole clears all. */
  security: unknown;
  caller: {
    userId: string;
    email: string;
    scope: AccessScope;
    partnerId: string | null;
    orgId: string | null;
    /** The claim of the token. */
    mfa: boolean;
  };
  /** Of the request, for the audit row. */
  ipAddress: string | null;
  userAgent: string | null;
}

/** Refusals: 400 `validation_failed`, 403 `mfa_required`, 409 `mfa_policy_would_lock_out_users`; nothing is stored then. */
export const IDENTITY_SECURITY_POLICY_APPLY = rpc<
  ApplySecurityPolicyRequest,
  { security: OrganizationSecurity; version: number }
>('identity.security-policy.apply', 10_000);
