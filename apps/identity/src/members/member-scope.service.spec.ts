import {
  OrganizationAccessDenied,
  PartnerAccessDenied,
  SiteAccessDenied,
  type OrganizationDirectory,
  type UserCaller,
} from '@rmm/access';
import type { RpcClient } from '@rmm/messaging';
import { ValidationError } from '@rmm/service-kit';
import type { PartnersRepository } from '../partners/partners.repository.js';
import { MemberScopeService, tenantOf } from './member-scope.service.js';
import { ContextRequired } from './member.errors.js';

const caller = (fields: Partial<UserCaller>) => ({ partnerId: 'p1', orgId: null, ...fields }) as UserCaller;
const partnerMember = caller({ scope: 'partner' });
const organizationMember = caller({ scope: 'organization', orgId: 'o1' });
const platformAdmin = caller({ scope: 'system', partnerId: null });

describe('MemberScopeService', () => {
  const organizations = new Map([
    ['o1', { orgId: 'o1', partnerId: 'p1', name: 'Customer' }],
    ['foreign', { orgId: 'foreign', partnerId: 'p2', name: 'Foreign' }],
  ]);
  const directory = {
    assertOrganizationAccess: async (_: UserCaller, orgId: string) => {
      const organization = organizations.get(orgId);
      if (!organization) throw new OrganizationAccessDenied();
      return organization;
    },
    find: async (orgId: string) => organizations.get(orgId) ?? null,
    preload: async () => undefined,
  } as unknown as OrganizationDirectory;
  const names = new Map([['p1', 'Acme']]);
  const partners = {
    findName: async (_: UserCaller, id: string) => names.get(id) ?? null,
  } as unknown as PartnersRepository;
  const rpc = {
    call: async () => ({ siteIds: ['s1', 's2'], deviceGroupIds: ['g1', 'g2'] }),
  } as unknown as RpcClient;
  const scopes = new MemberScopeService(directory, partners, rpc);

  it.each([
    ['a partner member', partnerMember, {}, { kind: 'partner', partnerId: 'p1' }],
    [
      'a partner member who names an organization',
      partnerMember,
      { orgId: 'o1' },
      { kind: 'organization', orgId: 'o1', partnerId: 'p1' },
    ],
    ['an organization member', organizationMember, {}, { kind: 'organization', orgId: 'o1', partnerId: 'p1' }],
    ['a platform administrator', platformAdmin, { partnerId: 'p1' }, { kind: 'partner', partnerId: 'p1' }],
  ])('resolves the scope of %s', async (_, who, named, expected) => {
    expect(await scopes.resolve(who, named)).toEqual(expected);
  });

  it("ignores a partner that a partner member names, in favor of the member's own", async () => {
    expect(await scopes.resolve(partnerMember, { partnerId: 'p2' })).toEqual({ kind: 'partner', partnerId: 'p1' });
  });

  it.each([
    ['an organization of another tenant', partnerMember, { orgId: 'o2' }, OrganizationAccessDenied],
    ['another organization, for an organization member', organizationMember, { orgId: 'o2' }, OrganizationAccessDenied],
    ['no tenant, for a platform administrator', platformAdmin, {}, ContextRequired],
    ['a partner that does not exist', platformAdmin, { partnerId: 'p2' }, PartnerAccessDenied],
  ])('refuses %s', async (_, who, named, error) => {
    await expect(scopes.resolve(who, named)).rejects.toThrow(error);
  });

  it('returns the name of the partner or organization', async () => {
    expect(await scopes.getTenantName(partnerMember, { kind: 'partner', partnerId: 'p1' })).toBe('Acme');
    const organization = { kind: 'organization', partnerId: 'p1', orgId: 'o1' } as const;
    expect(await scopes.getTenantName(partnerMember, organization)).toBe('Customer');
    expect(await scopes.getTenantName(partnerMember, { kind: 'partner', partnerId: 'p2' })).toBe('');
  });

  it('maps a scope to tenant columns', () => {
    expect(tenantOf({ kind: 'partner', partnerId: 'p1' })).toEqual({ partnerId: 'p1', orgId: null });
    expect(tenantOf({ kind: 'organization', partnerId: 'p1', orgId: 'o1' })).toEqual({ partnerId: 'p1', orgId: 'o1' });
  });

  describe('checkRestrictions', () => {
    const partner = { kind: 'partner', partnerId: 'p1' } as const;
    const organization = { kind: 'organization', partnerId: 'p1', orgId: 'o1' } as const;
    const unrestricted = {
      kind: 'user',
      tenant: { scope: 'partner', partnerId: 'p1', orgId: null, orgAccess: 'all', orgIds: [], userId: 'u1' },
      siteIds: null,
      deviceGroupIds: null,
    } as unknown as UserCaller;

    it.each([
      ['all organizations by default', {}, { orgAccess: 'all', orgIds: [] }],
      ['no organization', { orgAccess: 'none' as const }, { orgAccess: 'none', orgIds: [] }],
      ['selected ones', { orgAccess: 'selected' as const, orgIds: ['o1'] }, { orgAccess: 'selected', orgIds: ['o1'] }],
    ])('gives a partner member access to %s', async (_, fields, expected) => {
      const checked = await scopes.checkRestrictions(unrestricted, partner, fields);
      expect(checked).toEqual({ ...expected, siteIds: null, deviceGroupIds: null });
    });

    it('restricts an organization member to sites of the organization', async () => {
      const checked = await scopes.checkRestrictions(unrestricted, organization, { siteIds: ['s1'] });
      expect(checked).toEqual({ orgAccess: 'none', orgIds: [], siteIds: ['s1'], deviceGroupIds: null });
    });

    it('restricts an organization member to device groups of the organization', async () => {
      const checked = await scopes.checkRestrictions(unrestricted, organization, { deviceGroupIds: ['g1', 'g2'] });
      expect(checked).toEqual({ orgAccess: 'none', orgIds: [], siteIds: null, deviceGroupIds: ['g1', 'g2'] });
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
      ['device groups that do not exist', organization, { deviceGroupIds: ['g3', 'g1'] }, 'deviceGroupIds.0'],
    ])('refuses %s', async (_, scope, fields, path) => {
      const refused: unknown = await scopes
        .checkRestrictions(unrestricted, scope, fields)
        .catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(ValidationError);
      expect(Object.keys((refused as ValidationError).fieldErrors ?? {})).toEqual([path]);
    });

    it.each([
      ['all sites', {}],
      ['other sites', { siteIds: ['s2'] }],
    ])('refuses %s when the caller is restricted to one', async (_, fields) => {
      const caller = { ...unrestricted, siteIds: ['s1'] } as UserCaller;
      await expect(scopes.checkRestrictions(caller, organization, fields)).rejects.toThrow(SiteAccessDenied);
    });
  });
});
