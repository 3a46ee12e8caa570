import type { SqlExecutor } from '@rmm/persistence';
import { assertAnotherAdmin } from './last-admin.policy.js';
import { LastAdmin } from './member.errors.js';
import type { LockedMember } from './members.repository.js';

const partner = { kind: 'partner', partnerId: 'p' } as const;
const organization = { kind: 'organization', partnerId: 'p', orgId: 'o' } as const;
const admin: Pick<LockedMember, 'systemKey' | 'orgAccess'> = { systemKey: 'partner_admin', orgAccess: 'all' };

describe('assertAnotherAdmin', () => {
  const asked: unknown[] = [];
  const check = (hasAnother: boolean, member = admin, scope: typeof partner | typeof organization = partner) => {
    const hasAnotherAdmin = async (_: SqlExecutor, ...params: string[]) => {
      asked.push(params);
      return hasAnother;
    };
    return assertAnotherAdmin({} as SqlExecutor, { hasAnotherAdmin }, { scope, userId: 'u', member });
  };
  beforeEach(() => {
    asked.length = 0;
  });

  it('refuses the last administrator of a partner', async () => {
    await expect(check(false)).rejects.toThrow(LastAdmin);
    expect(asked).toEqual([['p', 'u']]);
  });

  it('accepts an administrator when the partner has another one', async () => {
    await check(true);
  });

  it.each([
    ['of another role', { systemKey: 'partner_technician', orgAccess: 'all' }],
    ['of a custom role', { systemKey: null, orgAccess: 'all' }],
    ['without access to all organizations', { systemKey: 'partner_admin', orgAccess: 'selected' }],
  ] as const)('accepts a member %s without looking for another', async (_, member) => {
    await check(false, member);
    expect(asked).toEqual([]);
  });

  it('accepts members of an organization, which the partner can manage', async () => {
    await check(false, admin, organization);
    expect(asked).toEqual([]);
  });
});
