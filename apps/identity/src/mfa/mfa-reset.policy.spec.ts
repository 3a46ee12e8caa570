import type { UserCaller } from '@rmm/access';
import type { WorkerDatabase } from '@rmm/persistence';
import type { MembersRepository } from '../members/members.repository.js';
import { PermissionNotDelegable } from '../roles/role.errors.js';
import type { RolesRepository } from '../roles/roles.repository.js';
import type { User } from '../users/user.js';
import type { UsersRepository } from '../users/users.repository.js';
import { MfaResetPolicy } from './mfa-reset.policy.js';
import { MfaNotEnabled, UserInOtherTenants } from './mfa.errors.js';

const partnerMember = { scope: 'partner', partnerId: 'p', orgId: null, roleId: 'r' };
const orgMember = { scope: 'organization', partnerId: 'p', orgId: 'o', roleId: 'r' };
const callerOf = (scope: string, orgId: string | null = null) =>
  ({ scope, partnerId: 'p', orgId, permissions: new Set(['devices:read']) }) as unknown as UserCaller;

function reset(caller: UserCaller, memberships: object[], mfaEnabled = true): Promise<string> {
  const user = { id: 'u', memberships, mfaEnabled } as User;
  const worker = { transaction: (work: (tx: object) => unknown) => work({}) } as unknown as WorkerDatabase;
  const users = { lockMemberships: () => Promise.resolve(), findById: () => Promise.resolve(user) };
  const roles = { listPermissions: () => Promise.resolve(['devices:read']) };
  const policy = new MfaResetPolicy(
    worker,
    users as unknown as UsersRepository,
    {} as MembersRepository,
    roles as unknown as RolesRepository,
  );
  return policy.withPermittedTarget(caller, 'u', () => Promise.resolve('reset'));
}

describe('MfaResetPolicy', () => {
  it('permits a partner to reset members of the partner and its organizations', async () => {
    expect(await reset(callerOf('partner'), [partnerMember, orgMember])).toBe('reset');
  });

  it('permits an organization to reset users who are members of it alone', async () => {
    expect(await reset(callerOf('organization', 'o'), [orgMember])).toBe('reset');
    await expect(reset(callerOf('organization', 'o'), [orgMember, partnerMember])).rejects.toThrow(UserInOtherTenants);
  });

  it('refuses users with a membership in another tenant', async () => {
    const foreign = { ...partnerMember, partnerId: 'other' };
    await expect(reset(callerOf('partner'), [partnerMember, foreign])).rejects.toThrow(UserInOtherTenants);
    expect(await reset(callerOf('system'), [partnerMember, foreign])).toBe('reset');
  });

  it('refuses users with permissions that the caller does not have', async () => {
    const caller = { ...callerOf('partner'), permissions: new Set(['users:write']) } as unknown as UserCaller;
    await expect(reset(caller, [partnerMember])).rejects.toThrow(PermissionNotDelegable);
  });

  it('refuses users without a factor', async () => {
    await expect(reset(callerOf('partner'), [partnerMember], false)).rejects.toThrow(MfaNotEnabled);
  });
});
