import type { UserCaller } from '@rmm/access';
import type { Permission } from '@rmm/permissions';
import type { UserMembership } from '../users/user.types.js';
import { mayReceiveLink, type InvitedAccount } from './invitation-link.policy.js';
import type { PendingMembership } from './invitations.repository.js';

const partner = { scope: 'partner', partnerId: 'p', orgId: null };
const organization = { scope: 'organization', partnerId: 'p', orgId: 'o' };
const foreign = { ...partner, partnerId: 'other' };

const callerOf = (tenant: object, more: object = {}) =>
  ({
    ...tenant,
    siteIds: null,
    deviceGroupIds: null,
    permissions: new Set<Permission>(['users:invite', 'devices:read']),
    ...more,
  }) as unknown as UserCaller;
const invitation = (tenant: object, sites: object = { siteIds: null, deviceGroupIds: null }) =>
  ({ ...tenant, ...sites }) as unknown as PendingMembership;
const account = (more: Partial<InvitedAccount> = {}): InvitedAccount => ({
  user: { status: 'invited', passwordHash: null, memberships: [] },
  invitations: [invitation(partner)],
  permissions: ['devices:read'],
  ...more,
});
const member = (tenant: object): InvitedAccount['user'] => ({
  status: 'invited',
  passwordHash: null,
  memberships: [tenant as UserMembership],
});

describe('mayReceiveLink', () => {
  it('permits the administrator of every membership and invitation of the account', () => {
    expect(mayReceiveLink(callerOf(partner), account())).toBe(true);
    const both = account({ user: member(organization), invitations: [invitation(partner), invitation(organization)] });
    expect(mayReceiveLink(callerOf(partner), both)).toBe(true);
  });

  it('refuses an account with a membership or invitation of another tenant', () => {
    expect(mayReceiveLink(callerOf(partner), account({ user: member(foreign) }))).toBe(false);
    const shared = account({ invitations: [invitation(partner), invitation(foreign)] });
    expect(mayReceiveLink(callerOf(partner), shared)).toBe(false);
    expect(mayReceiveLink(callerOf({ scope: 'system', partnerId: null, orgId: null }), shared)).toBe(true);
  });

  it('refuses an organization the account of a partner member', () => {
    const invited = account({ invitations: [invitation(organization)] });
    expect(mayReceiveLink(callerOf(organization), invited)).toBe(true);
    expect(mayReceiveLink(callerOf(organization), { ...invited, user: member(partner) })).toBe(false);
  });

  it('refuses a caller who does not have all permissions of the account', () => {
    expect(mayReceiveLink(callerOf(partner), account({ permissions: ['devices:read', 'users:delete'] }))).toBe(false);
  });

  it('refuses a caller restricted to other sites than the invitation', () => {
    const caller = callerOf(organization, { siteIds: ['s1'] });
    const sited = (siteIds: string[] | null) =>
      account({ invitations: [invitation(organization, { siteIds, deviceGroupIds: null })] });
    expect(mayReceiveLink(caller, sited(['s1']))).toBe(true);
    expect(mayReceiveLink(caller, sited(['s1', 's2']))).toBe(false);
    expect(mayReceiveLink(caller, sited(null))).toBe(false);
  });

  it('refuses an account that was set back to invited and has a password, and permits an active one', () => {
    const user = (status: 'invited' | 'active') => ({ status, passwordHash: 'hash', memberships: [] });
    expect(mayReceiveLink(callerOf(partner), account({ user: user('invited') }))).toBe(false);
    expect(mayReceiveLink(callerOf(partner), account({ user: user('active') }))).toBe(true);
  });
});
