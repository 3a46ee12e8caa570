import type { Permission } from '@rmm/permissions';
import type { WorkerTransaction } from '@rmm/persistence';
import type { OrganizationGrant } from '../access/access.repository.js';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import { ScimRolesService, type ResolvedRole } from './scim-roles.service.js';
import type { ScimUser } from './scim-user.entity.js';
import { ScimRoleNotGrantable } from './scim.errors.js';

const tx = {} as WorkerTransaction;
const READ: Permission = 'devices:read';
const WRITE: Permission = 'devices:write';
const ROLES = ['first', 'second', 'named', 'kept', 'default'].map((id) => ({
  ...{ id, name: id, scope: 'organization', systemKey: null, permissions: [READ] },
}));
const PROVIDER = {
  ...{ partnerId: 'p', orgId: 'o', scimConfiguredBy: 'mapper', defaultRoleId: 'default' },
  ...{ defaultRoleConfiguredBy: 'chooser', scimGroupsByName: false },
  scimRoleMappings: [
    { group: 'Gone', roleId: 'deleted' },
    { group: 'Leads', roleId: 'first' },
    { group: 'Staff', roleId: 'second' },
  ],
} as unknown as SsoProvider;
const USER = { id: 's', keptRoleId: null } as ScimUser;

describe('ScimRolesService', () => {
  let groups: string[];
  let grants: Partial<OrganizationGrant>[];
  let roles: ScimRolesService;

  beforeEach(() => {
    groups = [];
    grants = [{ status: 'active', roleId: 'r', siteIds: null, deviceGroupIds: null, permissions: [READ, WRITE] }];
    const find = (name: string) => Promise.resolve(ROLES.find(({ id }) => id === name.toLowerCase()) ?? null);
    roles = new ScimRolesService(
      { listNamesOf: () => Promise.resolve(groups) } as never,
      {
        lockAgainstChange: () => Promise.resolve(),
        findGrantable: (_tx: unknown, _scope: unknown, id: string) => find(id),
        findGrantableByName: (_tx: unknown, _scope: unknown, name: string) => find(name),
        listPermissions: () => Promise.resolve([WRITE]),
      } as never,
      { listOrganizationGrants: () => Promise.resolve(grants) } as never,
    );
  });

  const resolve = async (provider: Partial<SsoProvider> = {}, user: Partial<ScimUser> = {}) => {
    const found = await roles.resolve(tx, { ...PROVIDER, ...provider }, { ...USER, ...user });
    return found && [found.role.id, found.configuredBy];
  };

  it.each([
    ['the first mapping with a group of the user', ['staff', 'LEADS'], {}, {}, ['first', 'mapper']],
    ['the next mapping when the role of one is deleted', ['Gone', 'Staff'], {}, {}, ['second', 'mapper']],
    ['a mapping before a role of the name', ['Named', 'Staff'], { scimGroupsByName: true }, {}, ['second', 'mapper']],
    ['the role with the name of a group', ['Other', 'Named'], { scimGroupsByName: true }, {}, ['named', 'mapper']],
    ['no role by name unless the provider says so', ['Named'], {}, {}, ['default', 'chooser']],
    ['the role of a member who was taken over', [], {}, { keptRoleId: 'kept' }, ['kept', null]],
    ['the default role when the kept one is deleted', [], {}, { keptRoleId: 'gone' }, ['default', 'chooser']],
    ['none without a default role', [], { defaultRoleId: null }, {}, null],
  ])('returns %s', async (_, names, provider, user, expected) => {
    groups = names;
    expect(await resolve(provider, user)).toEqual(expected);
  });

  const assertGrantable = (changes: Partial<ResolvedRole> = {}, replaced: string | null = null) =>
    roles.assertGrantable(tx, PROVIDER, { role: ROLES[0], configuredBy: 'u', isKept: false, ...changes }, replaced);

  it('lets a role be given that who configured it may grant, and one that was kept', async () => {
    await expect(assertGrantable()).resolves.toBeUndefined();
    await expect(assertGrantable({}, 'replaced')).resolves.toBeUndefined();
    grants = [];
    await expect(assertGrantable({ isKept: true })).resolves.toBeUndefined();
  });

  it.each([
    ['no user configured it', [{}], { configuredBy: null }],
    ['the user is disabled', [{ status: 'disabled' }], {}],
    ['the user left the organization', [{ roleId: null }], {}],
    ['the user is restricted to sites', [{ siteIds: [] }], {}],
    ['the user is restricted to device groups', [{ deviceGroupIds: [] }], {}],
    ['the user lost the permission', [{ permissions: [WRITE] }], {}],
  ])('throws when %s', async (_, changes, resolved) => {
    grants = changes.map((change) => ({ ...grants[0], ...(change as Partial<OrganizationGrant>) }));
    await expect(assertGrantable(resolved)).rejects.toBeInstanceOf(ScimRoleNotGrantable);
  });

  it('throws when the replaced role has a permission that who configured it lacks', async () => {
    grants = [{ ...grants[0], permissions: [READ] }];
    await expect(assertGrantable()).resolves.toBeUndefined();
    await expect(assertGrantable({}, 'replaced')).rejects.toBeInstanceOf(ScimRoleNotGrantable);
  });
});
