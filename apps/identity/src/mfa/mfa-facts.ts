import type { MfaFacts } from './mfa-policy.js';
import type { UserMembership, User } from '../users/user.js';

/** What the MFA policy needs, out of a user and the membership it acts in. */
export const mfaFactsOf = (user: User, membership: UserMembership): MfaFacts => ({
  scope: membership.scope,
  roleForcesMfa: membership.roleForcesMfa,
  partnerSecurity: membership.partnerSecurity,
  organizationSecurity: membership.organizationSecurity,
  hasFactor: user.mfaEnabled,
  everHadFactor: user.firstFactorAt !== null,
  graceGrantedAt: user.graceGrantedAt,
  enrollmentDeadline: user.enrollmentDeadline,
  now: user.now,
});
