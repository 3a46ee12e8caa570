import {
  OrganizationAccessDenied,
  PartnerAccessDenied,
  type OrganizationDirectory,
  type UserCaller,
} from '@rmm/access';
import type { PartnersRepository } from '../partners/partners.repository.js';
import { MemberScopeService, tenantOf } from './member-scope.service.js';
import { ContextRequired } from './member.errors.js';

const caller = (fields: Partial<UserCaller>) => ({ partnerId: 'p1', orgId: null, ...fields }) as UserCaller;
const partnerMember = caller({ scope: 'partner' });
const organizationMember = caller({ scope: 'organization', orgId: 'o1' });
const platformAdmin = caller({ scope: 'system', partnerId: null });

describe('MemberScopeService', () => {
  const organizations = new Map([['o1', { orgId: 'o1', partnerId: 'p1', name: 'Customer' }]]);
  const directory = {
    assertOrganizationAccess: async (_: UserCaller, orgId: string) => {
      const organization = organizations.get(orgId);
      if (!organization) throw new OrganizationAccessDenied();
      return organization;
    },
    find: async (orgId: string) => organizations.get(orgId) ?? null,
  } as unknown as OrganizationDirectory;
  const names = new Map([['p1', 'Acme']]);
  const partners = {
    findName: async (_: UserCaller, id: string) => names.get(id) ?? null,
  } as unknown as PartnersRepository;
  const scopes = new MemberScopeService(directory, partners);

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
});
