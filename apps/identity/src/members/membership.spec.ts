import { sortMemberships, sameMembership, type Membership } from './membership.js';

const membership = (scope: Membership['scope'], day: number, id = 'x'): Membership => ({
  scope,
  partnerId: scope === 'system' ? null : `partner-${id}`,
  orgId: scope === 'organization' ? `org-${id}` : null,
  roleId: 'role',
  roleName: 'Role',
  partnerName: null,
  orgName: null,
  createdAt: new Date(Date.UTC(2026, 0, day)),
});

describe('memberships', () => {
  it('are sorted: system scope, then organizations, then partners, each oldest first', () => {
    const all = [
      membership('partner', 1),
      membership('organization', 9, 'b'),
      membership('system', 20),
      membership('organization', 3, 'a'),
    ];
    expect(sortMemberships(all).map((m) => `${m.scope} ${m.createdAt.getUTCDate()}`)).toEqual([
      'system 20',
      'organization 3',
      'organization 9',
      'partner 1',
    ]);
  });

  it('are the same when scope, partner and organization are equal', () => {
    expect(sameMembership(membership('partner', 1), membership('partner', 2))).toBe(true);
    expect(sameMembership(membership('organization', 1, 'a'), membership('organization', 1, 'b'))).toBe(false);
  });
});
