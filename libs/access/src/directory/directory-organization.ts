import type { OrganizationState, OrganizationStatus } from '@rmm/contracts';

/** The fields of an organization that other services than provisioning store. */
export interface DirectoryOrganization {
  orgId: string;
  partnerId: string;
  name: string;
  slug: string;
  status: OrganizationStatus;
  deleted: boolean;
  version: number;
}

/** Returns true for organizations whose users and keys may be served: `active` or `trial`, and not deleted. */
export function isLive({ status, deleted }: Pick<DirectoryOrganization, 'status' | 'deleted'>): boolean {
  return !deleted && (status === 'active' || status === 'trial');
}

/** Copies field by field, so that a field added to the event is not stored by accident. */
export function toDirectoryOrganization(state: OrganizationState): DirectoryOrganization {
  const { orgId, partnerId, name, slug, status, deleted, version } = state;
  return { orgId, partnerId, name, slug, status, deleted, version };
}
