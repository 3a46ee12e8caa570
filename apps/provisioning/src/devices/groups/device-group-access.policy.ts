import { deviceGroupFilter, SiteAccessDenied, siteFilter, type Caller } from '@rmm/access';

/** The groups that a caller may see; null for no restriction. */
export interface VisibleGroups {
  groupIds: readonly string[] | null;
  siteIds: readonly string[] | null;
}

/**
 * Returns the groups that a caller may see: a caller restricted to groups these, one restricted to sites those of its
 * sites. A group of all sites is not visible to the latter, as a device without site is not.
 */
export function visibleGroups(caller: Caller): VisibleGroups {
  const groupIds = deviceGroupFilter(caller);
  return { groupIds, siteIds: groupIds === null ? siteFilter(caller) : null };
}

/** @throws SiteAccessDenied  403 `site_access_denied` */
export function assertSeesGroup(caller: Caller, group: { id: string; siteId: string | null }): void {
  const { groupIds, siteIds } = visibleGroups(caller);
  if (groupIds !== null && !groupIds.includes(group.id)) throw new SiteAccessDenied();
  if (siteIds !== null && (group.siteId === null || !siteIds.includes(group.siteId))) throw new SiteAccessDenied();
}
