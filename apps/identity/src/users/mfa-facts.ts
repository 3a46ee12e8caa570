import type { MfaFacts } from '../mfa/mfa-policy.js';
import type { LiveMembership, Person } from './person.js';

/** What the MFA policy needs, out of a person and the membership it acts in. */
export const mfaFactsOf = (person: Person, membership: LiveMembership): MfaFacts => ({
  scope: membership.scope,
  roleForcesMfa: membership.roleForcesMfa,
  partnerSecurity: membership.partnerSecurity,
  organizationSecurity: membership.organizationSecurity,
  hasFactor: person.mfaEnabled,
  everHadFactor: person.firstFactorAt !== null,
  graceGrantedAt: person.graceGrantedAt,
  enrollmentDeadline: person.enrollmentDeadline,
  now: person.now,
});
