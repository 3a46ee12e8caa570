import { cidrsContain, parseCidr } from '@rmm/validation';
import type { UserMembership } from '../users/user.types.js';

/** The part of a membership that decides about addresses. */
export type EnteredTenant = Pick<UserMembership, 'scope' | 'partnerId' | 'orgId' | 'partnerSecurity'>;

/**
 * Checks an address against the list from which the members of a partner may act; an unknown address is on none. Only
 * the tenant that a user enters applies its own list, and system scope has none.
 */
export function isAddressAllowed({ scope, partnerSecurity }: EnteredTenant, address: string | undefined): boolean {
  const list = partnerSecurity?.ipAllowlist ?? [];
  if (scope === 'system' || list.length === 0) return true;
  const ranges = list.map(parseCidr).filter((range) => range !== null);
  return address !== undefined && cidrsContain(ranges, address);
}
