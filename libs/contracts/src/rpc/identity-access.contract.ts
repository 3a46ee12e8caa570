import { z } from 'zod';
import type { Permission } from '@rmm/permissions';
import { accessScope, uuid } from './fields.js';
import { replyOf, rpc, type RpcRequest } from './rpc-contract.js';

export type AccessScope = z.infer<typeof accessScope>;

export const MFA_METHODS = ['totp', 'sms', 'passkey'] as const;
export type MfaMethod = (typeof MFA_METHODS)[number];

/**
 * Access rules of a session: the rules, not the list of organizations they resolve to.
 * @see docs/reference/authorization.md
 */
export interface AccessSnapshot {
  userId: string;
  email: string;
  sessionId: string;
  userStatus: 'active' | 'invited' | 'disabled';
  sessionRevoked: boolean;
  /** A token issued under another value of an epoch is invalid. */
  authEpoch: number;
  mfaEpoch: number;
  /** Unix seconds; a token issued earlier is invalid. */
  passwordChangedAt: number | null;
  /** False when the membership or system scope behind the token was removed. */
  membershipExists: boolean;
  scope: AccessScope;
  partnerId: string | null;
  partnerStatus: string | null;
  orgId: string | null;
  roleId: string | null;
  orgAccess: 'all' | 'selected' | 'none';
  orgIds: string[];
  /** Null means no restriction; an empty list means no site. */
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
  /** In force, inheritance included, `*:*` as stored; a newer identity may send others, which the reader drops. */
  permissions: Permission[];
  hasFactor: boolean;
  /** True when the user must enroll a factor first; the response to other requests is 428. */
  mfaEnrollmentRequired: boolean;
  /** Unix milliseconds from which the user must enroll a factor, while the enrollment window is open. */
  mfaDeadline?: number | null;
  /** True when the enrollment window opens with the first mutating request. */
  mfaGraceDue?: boolean;
  allowedMfaMethods: MfaMethod[];
  /** CIDRs; empty means off. */
  ipAllowlist: string[];
  /** Exempt from the IP allow list, also while acting as a member of the partner. */
  isPlatformAdmin?: boolean;
  /** Rises with every change of this user's access. */
  version: number;
}

/** Resolves the session named by a verified access token. The reply is null when there is no such session. */
export const IDENTITY_ACCESS_RESOLVE = rpc('identity.access.resolve', {
  request: z.object({
    userId: uuid,
    sessionId: uuid,
    scope: accessScope,
    partnerId: uuid.nullable(),
    orgId: uuid.nullable(),
    /** Set for a mutating request of a user whose snapshot has `mfaGraceDue`: opens the window before replying. */
    opensMfaGrace: z.literal(true).optional(),
  }),
  reply: replyOf<AccessSnapshot | null>(),
  idempotent: true,
});
export type AccessResolveRequest = RpcRequest<typeof IDENTITY_ACCESS_RESOLVE>;

/** Rights that one membership, or the system scope of a platform administrator, grants a user in an organization. */
export interface AccessGrant {
  scope: AccessScope;
  /** In force, inheritance included, `*:*` as stored. */
  permissions: Permission[];
  /** Null means no restriction; an empty list means no site. */
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
}

export interface AccessInOrganization {
  userId: string;
  email: string;
  name: string;
  /** False when the account may not be used at all. */
  active: boolean;
  /** Only memberships that include the organization. */
  grants: AccessGrant[];
}

/** Returns what a user may do in one organization now, with or without a session; null when there is no such user. */
export const IDENTITY_ACCESS_IN_ORGANIZATION = rpc('identity.access.in-organization', {
  request: z.object({ userId: uuid, partnerId: uuid, orgId: uuid }),
  reply: replyOf<AccessInOrganization | null>(),
  idempotent: true,
});
export type AccessInOrganizationRequest = RpcRequest<typeof IDENTITY_ACCESS_IN_ORGANIZATION>;
