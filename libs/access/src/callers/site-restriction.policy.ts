import { SiteAccessDenied } from '../access.errors.js';
import type { Caller } from './caller.js';

/**
 * The sites a caller is confined to, for the WHERE of lists and counts.
 * @returns null for no restriction; an empty list matches nothing
 */
export function siteFilter(caller: Caller): readonly string[] | null {
  return 'siteIds' in caller ? caller.siteIds : null;
}

/** The device groups a caller is confined to; null for no restriction. Narrows beside `siteFilter`. */
export function deviceGroupFilter(caller: Caller): readonly string[] | null {
  return 'deviceGroupIds' in caller ? caller.deviceGroupIds : null;
}

/** True for a caller confined to some sites or groups: such a caller manages nothing organization-wide. */
export function isSiteRestricted(caller: Caller): boolean {
  return siteFilter(caller) !== null || deviceGroupFilter(caller) !== null;
}

/**
 * For a single object inside the caller's organization.
 * @param siteId  null for an object without site, which a confined caller does not reach
 * @throws SiteAccessDenied  403 `site_access_denied`
 * @see CONTRACT.md 6
 */
export function assertSite(caller: Caller, siteId: string | null): void {
  const sites = siteFilter(caller);
  if (sites !== null && (siteId === null || !sites.includes(siteId))) throw new SiteAccessDenied();
}

/** As `assertSite`, and inside one of the caller's device groups where it is confined to groups. */
export function assertDevice(caller: Caller, device: { siteId: string | null; groupIds: readonly string[] }): void {
  assertSite(caller, device.siteId);
  const groups = deviceGroupFilter(caller);
  if (groups !== null && !device.groupIds.some((id) => groups.includes(id))) throw new SiteAccessDenied();
}
