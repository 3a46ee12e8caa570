import { Avatar } from './account/avatar.entity.js';
import { AuditEntryRow } from './audit/audit-entry.entity.js';
import { AuditHeadRow } from './audit/audit-head.entity.js';
import { AuditNameSalt } from './audit/audit-name-salt.entity.js';
import { AuditNameRow } from './audit/audit-name.entity.js';
import { Invitation } from './invitations/invitation.entity.js';
import { Mail } from './mail/mail.entity.js';
import { MemberCount } from './members/member-count.entity.js';
import { OrganizationMembership } from './members/organization-membership.entity.js';
import { PartnerMembership } from './members/partner-membership.entity.js';
import { RecoveryCode } from './mfa/recovery-code.entity.js';
import { TotpFactor } from './mfa/totp-factor.entity.js';
import { Partner } from './partners/partner.entity.js';
import { Passkey } from './passkeys/passkey.entity.js';
import { PendingRegistration } from './registration/pending-registration.entity.js';
import { PermissionPair } from './roles/permission.entity.js';
import { RolePermission } from './roles/role-permission.entity.js';
import { Role } from './roles/role.entity.js';
import { ScimGroupMember } from './scim/scim-group-member.entity.js';
import { ScimGroup } from './scim/scim-group.entity.js';
import { ScimTokenRow } from './scim/scim-token.entity.js';
import { ScimUser } from './scim/scim-user.entity.js';
import { OrganizationSecurityPolicy } from './security-policy/organization-security-policy.entity.js';
import { KnownDevice } from './sessions/known-device.entity.js';
import { RefreshToken } from './sessions/refresh-token.entity.js';
import { SessionFamily } from './sessions/session-family.entity.js';
import { SigningKey } from './signing-keys/signing-key.entity.js';
import { SsoCode } from './sso/sso-code.entity.js';
import { SsoDomain } from './sso/sso-domain.entity.js';
import { SsoFlow } from './sso/sso-flow.entity.js';
import { SsoIdentity } from './sso/sso-identity.entity.js';
import { SsoProvider } from './sso/sso-provider.entity.js';
import { LinkToken } from './users/link-token.entity.js';
import { UserAccount } from './users/user-account.entity.js';

/** Every table of identity that its features own. */
export const ENTITIES = [
  AuditEntryRow,
  AuditHeadRow,
  AuditNameRow,
  AuditNameSalt,
  Avatar,
  Invitation,
  KnownDevice,
  LinkToken,
  Mail,
  MemberCount,
  OrganizationMembership,
  OrganizationSecurityPolicy,
  Partner,
  PartnerMembership,
  Passkey,
  PendingRegistration,
  PermissionPair,
  RecoveryCode,
  RefreshToken,
  Role,
  RolePermission,
  ScimGroup,
  ScimGroupMember,
  ScimTokenRow,
  ScimUser,
  SessionFamily,
  SigningKey,
  SsoCode,
  SsoDomain,
  SsoFlow,
  SsoIdentity,
  SsoProvider,
  TotpFactor,
  UserAccount,
];
