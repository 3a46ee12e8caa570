import type { UserCaller } from '@rmm/access';
import type { Permission } from '@rmm/permissions';
import { assertCanGrant } from './role-grant.policy.js';
import { PermissionNotDelegable } from './role.errors.js';

const callerWith = (...permissions: Permission[]) => ({ permissions: new Set(permissions) }) as unknown as UserCaller;

describe('assertCanGrant', () => {
  const permissions: Permission[] = ['tickets:read', 'tickets:write'];

  it('accepts permissions that the caller has', () => {
    expect(() => assertCanGrant(callerWith('tickets:read', 'tickets:write', 'users:read'), permissions)).not.toThrow();
  });

  it('accepts any permission from a caller with *:*', () => {
    expect(() => assertCanGrant(callerWith('*:*'), permissions)).not.toThrow();
  });

  it('refuses a permission that the caller does not have', () => {
    expect(() => assertCanGrant(callerWith('tickets:read'), permissions)).toThrow(PermissionNotDelegable);
  });

  it('refuses a wildcard to a caller without *:*', () => {
    expect(() => assertCanGrant(callerWith('tickets:read', 'tickets:write'), ['*:*'])).toThrow(PermissionNotDelegable);
  });
});
