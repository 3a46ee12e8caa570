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
 * `data` of `organizations.changed`: the new states of organizations that one import created or reactivated, or that its
 * undo deleted. An import of 100,000 rows would otherwise have each service that has a directory handle as many messages.
 */
export interface OrganizationsChanged {
  /** At most 100 of one partner. */
  organizations: OrganizationState[];
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
