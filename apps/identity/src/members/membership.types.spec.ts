import { sortMemberships, sameMembership, type Membership } from './membership.types.js';

const membership = (scope: Membership['scope'], day: number, id = 'x'): Membership => ({
  scope,
  partnerId: scope === 'system' ? null : `partner-${id}`,
  orgId: scope === 'organization' ? `org-${id}` : null,
  roleId: 'role',
  roleName: 'Role',
  partnerName: null,
  orgName: null,
  createdAt: new Date(Date.UTC(2026, 0, day)),
  lastEnteredAt: null,
});

describe('memberships', () => {
  it('are sorted: system scope, the one entered last, the oldest', () => {
    const entered = (m: Membership, day: number) => ({ ...m, lastEnteredAt: new Date(Date.UTC(2026, 1, day)) });
    const all = [
      membership('organization', 9, 'b'),
      membership('partner', 3),
      entered(membership('organization', 8, 'a'), 1),
      entered(membership('partner', 7), 2),
      membership('system', 20),
    ];
    expect(sortMemberships(all).map((m) => `${m.scope} ${m.createdAt.getUTCDate()}`)).toEqual([
      'system 20',
      'partner 7',
      'organization 8',
      'partner 3',
      'organization 9',
    ]);
  });

  it('are the same when scope, partner and organization are equal', () => {
    expect(sameMembership(membership('partner', 1), membership('partner', 2))).toBe(true);
    expect(sameMembership(membership('organization', 1, 'a'), membership('organization', 1, 'b'))).toBe(false);
  });
});
