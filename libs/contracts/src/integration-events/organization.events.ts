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

/**
 * `data` of `organization.erased`: a deleted organization can no longer be restored. Each service erases what it stores of
 * it and reports the numbers. Published again while a report is missing.
 * @see docs/reference/tenancy.md#erasure
 */
export interface OrganizationErased {
  orgId: string;
  partnerId: string;
}
