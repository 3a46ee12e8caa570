import type { Feature } from '../feature.js';
import { LockoutRepository } from './lockout.repository.js';
import { OrganizationPoliciesRepository } from './organization-policies.repository.js';
import { OrganizationPoliciesService } from './organization-policies.service.js';
import { PolicyChanges } from './policy-changes.js';
import { PolicyLock } from './policy-lock.js';
import { SecurityPolicyRpc } from './security-policy.rpc.js';

/** Security policies of partners and organizations. */
export const securityPolicyFeature: Feature = {
  controllers: [SecurityPolicyRpc],
  providers: [
    LockoutRepository,
    OrganizationPoliciesRepository,
    OrganizationPoliciesService,
    PolicyChanges,
    PolicyLock,
  ],
};
