import { SiteAccessDenied } from '../access.errors.js';
import type { Caller } from './caller.js';

/**
 * Returns the sites a caller is restricted to, for the WHERE clause of lists and counts.
 * @returns null for no restriction; an empty list matches nothing
 */
export function siteFilter(caller: Caller): readonly string[] | null {
  return 'siteIds' in caller ? caller.siteIds : null;
}

/** Returns the device groups a caller is restricted to, in addition to `siteFilter`; null for no restriction. */
export function deviceGroupFilter(caller: Caller): readonly string[] | null {
  return 'deviceGroupIds' in caller ? caller.deviceGroupIds : null;
}

/** Returns true for a caller restricted to sites or groups, who may not manage organization-wide objects. */
export function isSiteRestricted(caller: Caller): boolean {
  return siteFilter(caller) !== null || deviceGroupFilter(caller) !== null;
}

/**
 * Checks a single object of the caller's organization.
 * @param siteId  null for an object without site, which a restricted caller may not access
 * @throws SiteAccessDenied  403 `site_access_denied`
 */
export function assertSite(caller: Caller, siteId: string | null): void {
  const sites = siteFilter(caller);
  if (sites !== null && (siteId === null || !sites.includes(siteId))) throw new SiteAccessDenied();
}

/**
 * Returns the sites whose objects a caller may manage as a whole, such as enrollment keys; null for no restriction. A
 * caller restricted to device groups manages no site as a whole.
 */
export function managedSiteFilter(caller: Caller): readonly string[] | null {
  return deviceGroupFilter(caller) === null ? siteFilter(caller) : [];
}

/**
 * Checks that the caller may manage an object of a site, or of the organization for null.
 * @throws SiteAccessDenied  403 `site_access_denied`
 */
export function assertManagesSite(caller: Caller, siteId: string | null): void {
  const sites = managedSiteFilter(caller);
  if (sites !== null && (siteId === null || !sites.includes(siteId))) throw new SiteAccessDenied();
}

/** Checks the site, and that the device is in one of the caller's groups when the caller is restricted to groups. */
export function assertDevice(caller: Caller, device: { siteId: string | null; groupIds: readonly string[] }): void {
  assertSite(caller, device.siteId);
  const groups = deviceGroupFilter(caller);
  if (groups !== null && !device.groupIds.some((id) => groups.includes(id))) throw new SiteAccessDenied();
}
