import { rpc } from './rpc-contract.js';

export type AccessScope = 'system' | 'partner' | 'organization';

/** The session a verified access token names. */
export interface AccessResolveRequest {
  userId: string;
  sessionId: string;
  scope: AccessScope;
  partnerId: string | null;
  orgId: string | null;
  /** A mutating request met somebody whose snapshot says `mfaGraceDue`: the window is opened before it is answered. */
  opensMfaGrace?: true;
}

/**
 * What a caller may do: the rule, not the resolved list of organizations.
 * @see ARCHITECTURE.md 3
 */
export interface AccessSnapshot {
  userId: string;
  email: string;
  sessionId: string;
  userStatus: 'active' | 'invited' | 'disabled';
  sessionRevoked: boolean;
  /** Epochs of CONTRACT 2.5: a token with another value is dead. */
  authEpoch: number;
  mfaEpoch: number;
  /** Unix seconds; a token issued before it is dead. */
  passwordChangedAt: number | null;
  /** False when the membership or system scope behind the token is gone. */
  membershipExists: boolean;
  scope: AccessScope;
  partnerId: string | null;
  partnerStatus: string | null;
  orgId: string | null;
  roleId: string | null;
  orgAccess: 'all' | 'selected' | 'none';
  orgIds: string[];
  /** Null means no restriction; an empty list means nothing. */
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
  permissions: string[];
  hasFactor: boolean;
  /** True when the user must enroll a factor before anything else (428 gate of CONTRACT 5.2). */
  mfaEnrollmentRequired: boolean;
  /** True when the enrollment window waits for the first mutating request (CONTRACT 5.3); never with a GET. */
  mfaGraceDue?: boolean;
  allowedMfaMethods: string[];
  /** CIDRs; empty means off. */
  ipAllowlist: string[];
  /** Passes the list of addresses, also while acting as a member of the partner. */
  isPlatformAdmin?: boolean;
  /** Rises with every change of this user's access. */
  version: number;
}

export const IDENTITY_ACCESS_RESOLVE = rpc<AccessResolveRequest, AccessSnapshot | null>('identity.access.resolve');
