import type { UserCaller } from '@rmm/access';
import { canAccessMembership } from './membership-access.policy.js';
import type { MembershipKey } from './membership.types.js';

const system: MembershipKey = { scope: 'system', partnerId: null, orgId: null };
const partner: MembershipKey = { scope: 'partner', partnerId: 'p', orgId: null };
const organization: MembershipKey = { scope: 'organization', partnerId: 'p', orgId: 'o' };
const neighbor: MembershipKey = { ...organization, orgId: 'o2' };
const foreign: MembershipKey[] = [
  { ...partner, partnerId: 'other' },
  { ...organization, partnerId: 'other' },
];
const all = [system, partner, organization, neighbor, ...foreign];

describe('canAccessMembership', () => {
  const accessible = (caller: MembershipKey) =>
    all.filter((membership) => canAccessMembership(caller as UserCaller, membership));

  it('lets system scope access every membership', () => {
    expect(accessible(system)).toEqual(all);
  });

  it('lets a partner access its own memberships and those of its organizations', () => {
    expect(accessible(partner)).toEqual([partner, organization, neighbor]);
  });

  it('lets an organization access its own memberships, and none of its partner', () => {
    expect(accessible(organization)).toEqual([organization]);
  });
});
