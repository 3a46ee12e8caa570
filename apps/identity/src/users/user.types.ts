import { MFA_METHODS, type MfaMethod } from '@rmm/contracts';
import type { Membership } from '../members/membership.types.js';
import type { SecuritySettings } from '../mfa/mfa.policy.js';
import type { LoginUserDto } from './dto/login-user.dto.js';

export const USER_STATUSES = ['active', 'invited', 'disabled'] as const;
export type UserStatus = (typeof USER_STATUSES)[number];
export { MFA_METHODS, type MfaMethod };

/** A user with its memberships, as login and sessions need it; read in one statement. */
export interface User {
  id: string;
  email: string;
  name: string;
  passwordHash: string | null;
  status: UserStatus;
  isPlatformAdmin: boolean;
  requiresSetup: boolean;
  avatarUrl: string | null;
  mfaEnabled: boolean;
  mfaMethod: MfaMethod | null;
  phoneNumber: string | null;
  phoneVerified: boolean;
  firstFactorAt: Date | null;
  graceGrantedAt: Date | null;
  enrollmentDeadline: Date | null;
  authEpoch: number;
  mfaEpoch: number;
  resetEpoch: number;
  emailEpoch: number;
  emailVerifiedAt: Date | null;
  /** A requested e-mail address that is not confirmed yet. */
  pendingEmail: string | null;
  pendingEmailRequestedAt: Date | null;
  passwordChangedAt: Date | null;
  lastLoginAt: Date | null;
  createdAt: Date;
  setupCompletedAt: Date | null;
  preferences: Record<string, unknown>;
  /** The database clock at the time of reading. */
  now: Date;
  /** The accepted ones. System scope first, then the one entered last, then the oldest. */
  memberships: UserMembership[];
}

/** A membership with the current status and policies of its partner and organization. */
export interface UserMembership extends Membership {
  id: string | null;
  roleForcesMfa: boolean;
  partnerStatus: string | null;
  orgStatus: string | null;
  partnerSecurity: SecuritySettings | null;
  partnerLocale: string | null;
  organizationSecurity: SecuritySettings | null;
  /** The organization lets its members sign in by single sign-on only. */
  ssoEnforced: boolean;
}

const ACTIVE_ORGANIZATION = ['active', 'trial'];

/**
 * Checks whether a user may act in this membership. Partners must be active (their own members may also act while
 * pending), organizations active or on trial.
 */
export function tenantIsActive(membership: Pick<UserMembership, 'scope' | 'partnerStatus' | 'orgStatus'>): boolean {
  const { scope, partnerStatus, orgStatus } = membership;
  if (scope === 'system') return true;
  if (scope === 'partner') return partnerStatus === 'active' || partnerStatus === 'pending';
  return partnerStatus === 'active' && ACTIVE_ORGANIZATION.includes(orgStatus ?? '');
}

/** The membership a login names; the default when both ids are absent. */
export interface NamedMembership {
  orgId?: string;
  partnerId?: string;
}

/**
 * Returns true when no membership of the user may be entered with a password or a passkey: every one is in an
 * organization that enforces single sign-on. @see docs/reference/sso.md
 */
export const isSsoOnly = ({ memberships }: Pick<User, 'memberships'>): boolean =>
  memberships.length > 0 && memberships.every(({ ssoEnforced }) => ssoEnforced);

/**
 * Returns the named membership, else the first one whose tenant is active; null without any. Memberships that are
 * entered by single sign-on only are passed over.
 */
export function findMembershipToEnter(
  memberships: readonly UserMembership[],
  { orgId, partnerId }: NamedMembership,
): UserMembership | null {
  const found = memberships
    .filter((m) => tenantIsActive(m) && !m.ssoEnforced)
    .find((m) => {
      if (orgId !== undefined) return m.scope === 'organization' && m.orgId === orgId;
      return partnerId === undefined || (m.scope === 'partner' && m.partnerId === partnerId);
    });
  return found ?? null;
}

export const toLoginUser = (user: User): LoginUserDto => ({
  id: user.id,
  email: user.email,
  name: user.name,
  mfaEnabled: user.mfaEnabled,
  avatarUrl: user.avatarUrl,
  isPlatformAdmin: user.isPlatformAdmin,
});
