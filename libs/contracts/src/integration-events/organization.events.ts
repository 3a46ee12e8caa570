export type OrganizationStatus = 'active' | 'trial' | 'suspended' | 'churned' | 'offboarding';

/** `data` of `organization.created`, `.updated` and `.deleted`: everything that a directory of organizations stores. */
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
