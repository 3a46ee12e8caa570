import type { WorkerTransaction } from '@rmm/persistence';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import { ScimMembershipsService } from './scim-memberships.service.js';
import type { ResolvedRole } from './scim-roles.service.js';
import type { ScimUser } from './scim-user.entity.js';
import type { ManagedMembership } from './scim-users.repository.js';
import { ScimRoleNotGrantable } from './scim.errors.js';

const tx = {} as WorkerTransaction;
const provider = { id: 'idp', partnerId: 'p', orgId: 'o' } as SsoProvider;
const SITES = { siteIds: ['site'], deviceGroupIds: null };
const user = { id: 's', userId: 'u', orgId: 'o', active: true, ...SITES } as ScimUser;
const roleOf = (id: string) => ({ role: { id }, configuredBy: 'admin', isKept: false }) as ResolvedRole;

describe('ScimMembershipsService', () => {
  let calls: [string, ...unknown[]][];
  let member: ManagedMembership | null;
  let resolved: ResolvedRole | null;
  let isGrantable: boolean;
  let memberships: ScimMembershipsService;

  beforeEach(() => {
    calls = [];
    member = null;
    resolved = roleOf('role');
    isGrantable = true;
    const noted = (name: string, result?: unknown) => Promise.resolve((calls.push([name]), result));
    memberships = new ScimMembershipsService(
      { lockMemberships: () => noted('lock') } as never,
      {
        lockMembership: () => Promise.resolve(member),
        change: (_tx: unknown, _id: string, values: object) => Promise.resolve(calls.push(['keep', values])),
      } as never,
      {
        insert: (_tx: unknown, values: object) => Promise.resolve(calls.push(['insert', values])),
        setRole: (...given: unknown[]) => Promise.resolve(calls.push(['setRole', given[3]])),
        remove: () => noted('remove'),
      } as never,
      {
        resolve: () => Promise.resolve(resolved),
        assertGrantable: (...given: unknown[]) => {
          calls.push(['assertGrantable', given[3]]);
          return isGrantable ? Promise.resolve() : Promise.reject(new ScimRoleNotGrantable());
        },
      } as never,
      { revokeInMembership: () => noted('revoke', 2) } as never,
      { publish: (_tx: unknown, change: object) => Promise.resolve(calls.push(['publish', change])) } as never,
    );
  });

  const apply = (changes: Partial<ScimUser> = {}) => memberships.apply(tx, provider, { ...user, ...changes });
  const names = () => calls.map(([name]) => name);

  it('begins a membership with the role, and with the restrictions that the user had', async () => {
    expect(await apply()).toEqual({ membership: 'begun', roleId: 'role' });
    expect(calls).toContainEqual(['insert', expect.objectContaining({ userId: 'u', roleId: 'role', ...SITES })]);
    expect(names()).toEqual(['lock', 'assertGrantable', 'insert', 'publish']);
  });

  it('changes the role of a member when who configured it has the permissions of both', async () => {
    member = { roleId: 'before', ...SITES };
    expect(await apply()).toEqual({ membership: 'changed', from: 'before', to: 'role' });
    expect(calls).toContainEqual(['assertGrantable', 'before']);
    expect(names()).toEqual(['lock', 'assertGrantable', 'setRole', 'publish']);
  });

  it('writes nothing for a member who has the role, also when it may not be granted', async () => {
    member = { roleId: 'role', ...SITES };
    isGrantable = false;
    expect(await apply()).toEqual({ membership: 'unchanged' });
    expect(names()).toEqual(['lock']);
  });

  it.each([
    ['an inactive user', { active: false }, roleOf('role')],
    ['a user without a role', {}, null],
  ])('ends the membership of %s: sessions first, restrictions kept', async (_, changes, role) => {
    member = { roleId: 'role', siteIds: ['later'], deviceGroupIds: ['group'] };
    resolved = role;
    isGrantable = false;
    expect(await apply(changes)).toEqual({ membership: 'ended', roleId: 'role', sessions: 2 });
    expect(names()).toEqual(['lock', 'revoke', 'remove', 'keep']);
    expect(calls).toContainEqual(['keep', { siteIds: ['later'], deviceGroupIds: ['group'] }]);
  });

  it('removes an invitation of a user who is to be no member', async () => {
    expect(await apply({ active: false })).toEqual({ membership: 'none' });
    expect(names()).toEqual(['lock', 'remove']);
  });

  it('writes nothing when the role may not be given', async () => {
    isGrantable = false;
    await expect(apply()).rejects.toBeInstanceOf(ScimRoleNotGrantable);
    expect(names()).toEqual(['lock', 'assertGrantable']);
  });
});
