import { PermissionNotDelegable, type UserCaller } from '@rmm/access';
import type { IdentityConfig } from '../config.js';
import { InvalidRoleScope } from '../roles/role.errors.js';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import { ScimSettingsService } from './scim-settings.service.js';

const CALLER = { userId: 'u', scope: 'partner', orgAccess: 'all', siteIds: null, deviceGroupIds: null } as UserCaller;
const PROVIDER = {
  id: 'idp',
  partnerId: 'p',
  orgId: 'o',
  scimRoleMappings: [],
  defaultRoleId: null,
} as unknown as SsoProvider;

describe('ScimSettingsService', () => {
  let changed: object[];
  let audited: unknown[][];
  let provider: SsoProvider;
  let settings: ScimSettingsService;

  beforeEach(() => {
    changed = [];
    audited = [];
    provider = PROVIDER;
    settings = new ScimSettingsService(
      { transaction: (_caller: unknown, work: (tx: object) => unknown) => work({}) } as never,
      {
        get: () => Promise.resolve(provider),
        lock: () => Promise.resolve(provider),
        change: (_tx: unknown, _id: string, values: object) => {
          changed.push(values);
          return Promise.resolve({ ...provider, ...values });
        },
      } as never,
      {
        refreshCaller: (_tx: unknown, caller: UserCaller) => Promise.resolve(caller),
        getGrantableRole: (_tx: unknown, _caller: unknown, _scope: unknown, roleId: string) => {
          if (roleId === 'foreign') return Promise.reject(new InvalidRoleScope());
          return roleId === 'above' ? Promise.reject(new PermissionNotDelegable()) : Promise.resolve({ id: roleId });
        },
      } as never,
      { record: (...given: unknown[]) => Promise.resolve(audited.push(given.slice(2))) } as never,
      { publicApiUrl: 'https://rmm.test' } as IdentityConfig,
    );
  });

  const update = (...roleMappings: { group: string; roleId: string }[]) =>
    settings.update(CALLER, 'idp', { groupsByName: true, roleMappings });

  it('stores the mappings with who configured them, and records them', async () => {
    const mapping = { group: 'Staff', roleId: 'role' };
    expect(await update(mapping)).toEqual({
      baseUrl: 'https://rmm.test/api/v1/scim/v2',
      groupsByName: true,
      roleMappings: [mapping],
      configuredBy: 'u',
      defaultRoleId: null,
    });
    expect(changed).toEqual([{ scimRoleMappings: [mapping], scimGroupsByName: true, scimConfiguredBy: 'u' }]);
    expect(audited[0]?.[0]).toBe('scim.settings.update');
  });

  it.each([
    ['a role of another owner', [{ group: 'a', roleId: 'foreign' }], 'validation_failed'],
    [
      'a role above the caller',
      [
        { group: 'a', roleId: 'role' },
        { group: 'b', roleId: 'above' },
      ],
      'permission_not_delegable',
    ],
    [
      'a group twice',
      [
        { group: 'a', roleId: 'role' },
        { group: 'A', roleId: 'role' },
      ],
      'validation_failed',
    ],
  ])('stores nothing with %s', async (_, mappings, code) => {
    await expect(update(...mappings)).rejects.toMatchObject({ code });
    expect(changed).toEqual([]);
  });

  it('refuses a provider of the partner, and a caller who is restricted to sites', async () => {
    provider = { ...PROVIDER, orgId: null };
    await expect(update()).rejects.toMatchObject({ code: 'scim_organization_only' });
    await expect(settings.get(CALLER, 'idp')).rejects.toMatchObject({ code: 'scim_organization_only' });
    provider = PROVIDER;
    await expect(settings.get({ ...CALLER, siteIds: [] }, 'idp')).rejects.toMatchObject({ code: 'site_access_denied' });
  });
});
