import type { OrganizationState, OrganizationStatus } from '@rmm/contracts';

/** What a service knows of an organization it does not own. */
export interface DirectoryOrganization {
  orgId: string;
  partnerId: string;
  name: string;
  slug: string;
  status: OrganizationStatus;
  deleted: boolean;
  version: number;
}

/** In business: `active` or `trial`, and not deleted. @see CONTRACT.md 2.4 */
export function isLive({ status, deleted }: Pick<DirectoryOrganization, 'status' | 'deleted'>): boolean {
  return !deleted && (status === 'active' || status === 'trial');
}

/** Field by field, so that a richer fact adds nothing by accident. */
export function toDirectoryOrganization(fact: OrganizationState): DirectoryOrganization {
  const { orgId, partnerId, name, slug, status, deleted, version } = fact;
  return { orgId, partnerId, name, slug, status, deleted, version };
}
