import { userCaller } from '../../test/callers.js';
import { SiteAccessDenied } from '../access.errors.js';
import type { Caller } from './caller.js';
import { hasFullPartnerAccess, canAccessOrganization } from './organization-access.policy.js';
import {
  assertDevice,
  assertSite,
  deviceGroupFilter,
  isSiteRestricted,
  siteFilter,
} from './site-restriction.policy.js';

const machine: Caller = {
  kind: 'api_key',
  actor: { type: 'api_key', id: 'k' },
  tenant: { scope: 'organization', partnerId: 'p', orgId: 'o', orgAccess: 'none', orgIds: [], userId: null },
  keyId: 'k',
  orgId: 'o',
  partnerId: 'p',
  scopes: [],
  siteIds: null,
  deviceGroupIds: null,
  createdBy: null,
  principalId: null,
};

describe('site restrictions', () => {
  it('allow a caller without restriction every site and device', () => {
    for (const caller of [userCaller({ siteIds: null }), machine]) {
      expect(siteFilter(caller)).toBeNull();
      expect(isSiteRestricted(caller)).toBe(false);
      expect(() => assertSite(caller, 'any')).not.toThrow();
      expect(() => assertSite(caller, null)).not.toThrow();
    }
  });

  it('restrict a member to its sites and exclude objects without a site', () => {
    const caller = userCaller({ siteIds: ['s1'] });
    expect(isSiteRestricted(caller)).toBe(true);
    expect(() => assertSite(caller, 's1')).not.toThrow();
    expect(() => assertSite(caller, 's2')).toThrow(SiteAccessDenied);
    expect(() => assertSite(caller, null)).toThrow(SiteAccessDenied);
  });

  it('restrict a key like its creator', () => {
    const caller: Caller = { ...machine, siteIds: ['s1'], deviceGroupIds: ['g1'] };
    expect([siteFilter(caller), deviceGroupFilter(caller)]).toEqual([['s1'], ['g1']]);
    expect(() => assertSite(caller, 's2')).toThrow(SiteAccessDenied);
  });

  it('exclude every site when the list is empty', () => {
    const caller = userCaller({ siteIds: [] });
    expect(siteFilter(caller)).toEqual([]);
    expect(() => assertSite(caller, 's1')).toThrow(SiteAccessDenied);
  });

  it('restrict devices to the device groups in addition', () => {
    const caller = userCaller({ siteIds: ['s1'], deviceGroupIds: ['g1'] });
    expect(deviceGroupFilter(caller)).toEqual(['g1']);
    expect(() => assertDevice(caller, { siteId: 's1', groupIds: ['g2', 'g1'] })).not.toThrow();
    expect(() => assertDevice(caller, { siteId: 's1', groupIds: ['g2'] })).toThrow(SiteAccessDenied);
    expect(() => assertDevice(caller, { siteId: 's2', groupIds: ['g1'] })).toThrow(SiteAccessDenied);
    expect(isSiteRestricted(userCaller({ deviceGroupIds: [] }))).toBe(true);
  });
});

describe('canAccessOrganization', () => {
  const own = { orgId: 'o', partnerId: 'p' };
  const foreign = { orgId: 'x', partnerId: 'q' };
  const partner = { scope: 'partner', partnerId: 'p', orgId: null } as const;

  it.each([
    ['system', userCaller({ scope: 'system', partnerId: null, orgId: null }), own, true],
    ['all, in the same partner', userCaller({ ...partner, orgAccess: 'all' }), own, true],
    ['all, but another partner', userCaller({ ...partner, orgAccess: 'all' }), foreign, false],
    ['selected and listed', userCaller({ ...partner, orgAccess: 'selected', orgIds: ['o'] }), own, true],
    ['selected and not listed', userCaller({ ...partner, orgAccess: 'selected', orgIds: ['y'] }), own, false],
    [
      'listed, but of another partner',
      userCaller({ ...partner, orgAccess: 'selected', orgIds: ['x'] }),
      foreign,
      false,
    ],
    ['none', userCaller({ ...partner, orgAccess: 'none' }), own, false],
    ['a member of it', userCaller({ scope: 'organization', partnerId: 'p', orgId: 'o' }), own, true],
    ['a member of another', userCaller({ scope: 'organization', partnerId: 'p', orgId: 'y' }), own, false],
    ['its key', machine, own, true],
    ['a key of another', machine, foreign, false],
  ])('%s', (_, caller, organization, expected) => {
    expect(canAccessOrganization(caller, organization)).toBe(expected);
  });

  it('hasFullPartnerAccess returns false only for partner members without access to all organizations', () => {
    expect(hasFullPartnerAccess(userCaller({ ...partner, orgAccess: 'all' }))).toBe(true);
    expect(hasFullPartnerAccess(userCaller({ ...partner, orgAccess: 'selected' }))).toBe(false);
    expect(hasFullPartnerAccess(userCaller({ ...partner, orgAccess: 'none' }))).toBe(false);
    expect(hasFullPartnerAccess(machine)).toBe(true);
  });
});
