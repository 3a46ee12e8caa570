import { InvalidAccessToken, PermissionDenied, PermissionNotDelegable, type UserCaller } from '@rmm/access';
import type { Permission } from '@rmm/permissions';
import type { AccessRepository, StoredAccess } from '../access/access.repository.js';
import type { Transaction } from '../transaction.js';
import { RoleGrantPolicy } from './role-grant.policy.js';
import { InvalidRoleScope } from './role.errors.js';
import type { GrantableRole, RolesRepository } from './roles.repository.js';

const scope = { kind: 'partner', partnerId: 'p1' } as const;
const tx = {} as Transaction;
const callerWith = (...permissions: Permission[]) => ({ permissions: new Set(permissions) }) as unknown as UserCaller;

describe('RoleGrantPolicy', () => {
  const role: GrantableRole = {
    id: 'r1',
    name: 'Support',
    scope: 'partner',
    systemKey: null,
    permissions: ['tickets:read', 'tickets:write'],
  };
  const calls: string[] = [];
  let access: StoredAccess | null = null;
  const roles = {
    lockAgainstChange: async () => void calls.push('lock'),
    findGrantable: async (_: Transaction, __: unknown, id: string) => {
      calls.push('find');
      return id === role.id ? role : null;
    },
    listPermissions: async () => role.permissions,
  } as unknown as RolesRepository;
  const policy = new RoleGrantPolicy(roles, { findAccess: async () => access } as unknown as AccessRepository);

  it('returns a role whose permissions the caller has, locked before it is read', async () => {
    const caller = callerWith('tickets:read', 'tickets:write', 'users:read');
    expect(await policy.getGrantableRole(tx, caller, scope, 'r1')).toBe(role);
    expect(calls).toEqual(['lock', 'find']);
  });

  it('accepts any permission from a caller with *:*', () => {
    expect(() => policy.assertCanGrant(callerWith('*:*'), role.permissions)).not.toThrow();
  });

  it('refuses a role with a permission the caller does not have', async () => {
    const caller = callerWith('tickets:read');
    await expect(policy.getGrantableRole(tx, caller, scope, 'r1')).rejects.toThrow(PermissionNotDelegable);
    await expect(policy.assertHasPermissionsOf(tx, caller, ['r1'])).rejects.toThrow(PermissionNotDelegable);
  });

  it('returns the caller with the permissions and restrictions that are stored now', async () => {
    const caller = { ...callerWith('users:write', 'scripts:execute'), orgAccess: 'none', siteIds: null } as UserCaller;
    access = { permissions: ['users:write'], orgAccess: 'none', siteIds: ['s1'], deviceGroupIds: null };
    const current = await policy.refreshCaller(tx, caller, 'users:write');
    expect([[...current.permissions], current.siteIds]).toEqual([['users:write'], ['s1']]);
    expect(() => policy.assertCanGrant(current, ['scripts:execute'])).toThrow(PermissionNotDelegable);
  });

  it('refuses a caller who lost the permission of the route, access to organizations or the membership', async () => {
    const caller = { ...callerWith('users:write'), orgAccess: 'all' } as UserCaller;
    const refresh = () => policy.refreshCaller(tx, caller, 'users:write');
    access = { permissions: ['users:read'], orgAccess: 'all', siteIds: null, deviceGroupIds: null };
    await expect(refresh()).rejects.toThrow(PermissionDenied);
    access = { ...access, permissions: ['users:write'], orgAccess: 'selected' };
    await expect(refresh()).rejects.toThrow(PermissionDenied);
    access = null;
    await expect(refresh()).rejects.toThrow(InvalidAccessToken);
  });

  it('refuses a role of another scope', async () => {
    await expect(policy.getGrantableRole(tx, callerWith(), scope, 'r2')).rejects.toThrow(InvalidRoleScope);
  });
});
