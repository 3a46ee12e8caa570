export type OrganizationStatus = 'active' | 'trial' | 'suspended' | 'churned' | 'offboarding';

/** Facts `organization.created`, `.updated` and `.deleted` of provisioning: all that a directory keeps. */
export interface OrganizationState {
  orgId: string;
  partnerId: string;
  name: string;
  slug: string;
  status: OrganizationStatus;
  /** True once the organization is soft-deleted. */
  deleted: boolean;
  version: number;
}

export const ORGANIZATION_CREATED = 'organization.created';
export const ORGANIZATION_UPDATED = 'organization.updated';
export const ORGANIZATION_DELETED = 'organization.deleted';
