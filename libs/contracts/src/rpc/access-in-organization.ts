import type { AccessScope } from './access-resolve.js';
import { rpc } from './rpc-contract.js';

/** One person, one organization: what may this person do there now, session or not? */
export interface AccessInOrganizationRequest {
  userId: string;
  partnerId: string;
  orgId: string;
}

/** What one membership, or the system scope of a platform administrator, gives a person in an organization. */
export interface AccessGrant {
  scope: AccessScope;
  /** In force, inheritance included, wildcards as stored. */
  permissions: string[];
  /** Null means no restriction; an empty list means nothing. */
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
}

export interface AccessInOrganization {
  userId: string;
  email: string;
  name: string;
  /** The account may be used at all. */
  active: boolean;
  /** Only memberships that reach the organization. */
  grants: AccessGrant[];
}

/** @returns null when there is no such person */
export const IDENTITY_ACCESS_IN_ORGANIZATION = rpc<AccessInOrganizationRequest, AccessInOrganization | null>(
  'identity.access.in-organization',
);
