import { KEY_CALLER, userCaller } from '../../test/callers.js';
import { SiteAccessDenied } from '../access.errors.js';
import {
  assertDevice,
  assertSite,
  deviceGroupFilter,
  isSiteRestricted,
  siteFilter,
} from './site-restriction.policy.js';

describe('site restrictions', () => {
  it('allow a caller without restriction every site and device', () => {
    for (const caller of [userCaller({ siteIds: null }), KEY_CALLER]) {
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
    const caller = { ...KEY_CALLER, siteIds: ['s1'], deviceGroupIds: ['g1'] };
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
