import { Avatar } from './account/avatar.entity.js';
import { MemberCount } from './members/member-count.entity.js';
import { OrganizationMembership } from './members/organization-membership.entity.js';
import { PartnerMembership } from './members/partner-membership.entity.js';
import { Partner } from './partners/partner.entity.js';
import { PendingRegistration } from './registration/pending-registration.entity.js';
import { PermissionPair } from './roles/permission.entity.js';
import { RolePermission } from './roles/role-permission.entity.js';
import { Role } from './roles/role.entity.js';
import { OrganizationSecurityPolicy } from './security-policy/organization-security-policy.entity.js';
import { LinkToken } from './users/link-token.entity.js';
import { UserAccount } from './users/user-account.entity.js';

/** Every table of identity that its features own. */
export const ENTITIES = [
  Avatar,
  LinkToken,
  MemberCount,
  OrganizationMembership,
  OrganizationSecurityPolicy,
  Partner,
  PartnerMembership,
  PendingRegistration,
  PermissionPair,
  Role,
  RolePermission,
  UserAccount,
];
