import { SiteAccessDenied } from '@rmm/access';
import type { MemberSites } from './members.repository.js';

const isWithin = (own: readonly string[] | null, other: readonly string[] | null): boolean =>
  own === null || (other?.every((id) => own.includes(id)) ?? false);

/** Checks whether a restriction to sites and device groups is no wider than the caller's own; null is no restriction. */
export const isWithinSites = (caller: MemberSites, member: MemberSites): boolean =>
  isWithin(caller.siteIds, member.siteIds) && isWithin(caller.deviceGroupIds, member.deviceGroupIds);

/** @throws SiteAccessDenied when the restriction is wider than the caller's own */
export function assertWithinSites(caller: MemberSites, member: MemberSites): void {
  if (!isWithinSites(caller, member)) throw new SiteAccessDenied();
}
