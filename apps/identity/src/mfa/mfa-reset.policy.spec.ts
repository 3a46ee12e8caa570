import type { UserCaller } from '@rmm/access';
import type { WorkerDatabase } from '@rmm/persistence';
import type { MembersRepository } from '../members/members.repository.js';
import type { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import type { User } from '../users/user.types.js';
import type { UsersRepository } from '../users/users.repository.js';
import { MfaResetPolicy } from './mfa-reset.policy.js';
import { MfaNotEnabled, UserInOtherTenants } from './mfa.errors.js';

const partnerMember = { scope: 'partner', partnerId: 'p', orgId: null, roleId: 'r' };
const orgMember = { scope: 'organization', partnerId: 'p', orgId: 'o', roleId: 'r' };
const callerOf = (scope: string, orgId: string | null = null) => ({ scope, partnerId: 'p', orgId }) as UserCaller;

function reset(caller: UserCaller, memberships: object[], mfaEnabled = true): Promise<string> {
  const user = { id: 'u', memberships, mfaEnabled } as User;
  const worker = { transaction: (work: (tx: object) => unknown) => work({}) } as unknown as WorkerDatabase;
  const users = { lockMemberships: () => Promise.resolve(), findById: () => Promise.resolve(user) };
  const grants = {
    refreshCaller: (_: object, current: UserCaller) => Promise.resolve(current),
    assertHasPermissionsOf: () => Promise.resolve(),
  };
  const policy = new MfaResetPolicy(
    worker,
    users as unknown as UsersRepository,
    {} as MembersRepository,
    grants as unknown as RoleGrantPolicy,
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

  it('refuses users without a factor', async () => {
    await expect(reset(callerOf('partner'), [partnerMember], false)).rejects.toThrow(MfaNotEnabled);
  });
});
