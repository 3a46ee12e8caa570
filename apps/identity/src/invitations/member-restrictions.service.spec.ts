import { SiteAccessDenied, type OrganizationDirectory, type UserCaller } from '@rmm/access';
import type { RpcClient } from '@rmm/messaging';
import { ValidationError } from '@rmm/service-kit';
import type { InviteUserDto } from './dto/invite-user.dto.js';
import { MemberRestrictionsService } from './member-restrictions.service.js';

const partner = { kind: 'partner', partnerId: 'p1' } as const;
const organization = { kind: 'organization', partnerId: 'p1', orgId: 'o1' } as const;
const unrestricted = {
  kind: 'user',
  tenant: { scope: 'partner', partnerId: 'p1', orgId: null, orgAccess: 'all', orgIds: [], userId: 'u1' },
  siteIds: null,
  deviceGroupIds: null,
} as unknown as UserCaller;
const dto = (fields: Partial<InviteUserDto>) => fields as InviteUserDto;

describe('MemberRestrictionsService', () => {
  const directory = {
    assertOrganizationAccess: async (_: UserCaller, orgId: string) => ({
      orgId,
      partnerId: orgId === 'foreign' ? 'p2' : 'p1',
    }),
  } as unknown as OrganizationDirectory;
  const rpc = { call: async () => ({ siteIds: ['s1', 's2'] }) } as unknown as RpcClient;
  const restrictions = new MemberRestrictionsService(directory, rpc);

  it.each([
    ['all organizations by default', {}, { orgAccess: 'all', orgIds: [] }],
    ['no organization', { orgAccess: 'none' as const }, { orgAccess: 'none', orgIds: [] }],
    ['selected ones', { orgAccess: 'selected' as const, orgIds: ['o1'] }, { orgAccess: 'selected', orgIds: ['o1'] }],
  ])('gives a partner member access to %s', async (_, fields, expected) => {
    const checked = await restrictions.check(unrestricted, partner, dto(fields));
    expect(checked).toEqual({ ...expected, siteIds: null, deviceGroupIds: null });
  });

  it('restricts an organization member to sites of the organization', async () => {
    const checked = await restrictions.check(unrestricted, organization, dto({ siteIds: ['s1'] }));
    expect(checked).toEqual({ orgAccess: 'none', orgIds: [], siteIds: ['s1'], deviceGroupIds: null });
  });

  it.each([
    ['sites of a partner member', partner, { siteIds: ['s1'] }, 'siteIds'],
    ['device groups of a partner member', partner, { deviceGroupIds: ['g1'] }, 'deviceGroupIds'],
    ['organizations without orgAccess selected', partner, { orgIds: ['o1'] }, 'orgIds'],
    ['orgAccess selected without organizations', partner, { orgAccess: 'selected' as const }, 'orgIds'],
    ['organizations of another partner', partner, { orgAccess: 'selected' as const, orgIds: ['foreign'] }, 'orgIds'],
    ['orgAccess of an organization member', organization, { orgAccess: 'all' as const }, 'orgAccess'],
    ['organizations of an organization member', organization, { orgIds: ['o1'] }, 'orgIds'],
    ['sites that do not exist', organization, { siteIds: ['s1', 's3'] }, 'siteIds.1'],
  ])('refuses %s', async (_, scope, fields, path) => {
    const refused: unknown = await restrictions
      .check(unrestricted, scope, dto(fields))
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ValidationError);
    expect(Object.keys((refused as ValidationError).fieldErrors ?? {})).toEqual([path]);
  });

  it.each([
    ['all sites', {}],
    ['other sites', { siteIds: ['s2'] }],
  ])('refuses %s when the caller is restricted to one', async (_, fields) => {
    const caller = { siteIds: ['s1'], deviceGroupIds: null } as unknown as UserCaller;
    await expect(restrictions.check(caller, organization, dto(fields))).rejects.toThrow(SiteAccessDenied);
  });
});
