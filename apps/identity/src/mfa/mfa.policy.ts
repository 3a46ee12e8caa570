import type { AccessScope, PartnerSecurity } from '@rmm/contracts';
import type { MfaMethod, User, UserMembership } from '../users/user.types.js';

/** `settings.security` of a partner or an organization. */
export type SecuritySettings = PartnerSecurity;

/** The input about one user in one membership that the policy decides by. */
export interface MfaPolicyInput {
  scope: AccessScope;
  roleForcesMfa: boolean;
  partnerSecurity: SecuritySettings | null;
  organizationSecurity: SecuritySettings | null;
  hasFactor: boolean;
  everHadFactor: boolean;
  /** When the enrollment window was opened; its stored end follows. */
  graceGrantedAt: Date | null;
  enrollmentDeadline: Date | null;
  /** The database clock. */
  now: Date;
}

export interface MfaSwitches {
  /** `ENABLE_2FA` */
  enabled: boolean;
  /** `MFA_FORCE_FOR_PARTNER_ADMIN` */
  forceByRole: boolean;
}

export const MFA_STATUSES = ['enrolled', 'pending', 'overdue', 'not_required'] as const;
export type MfaStatus = (typeof MFA_STATUSES)[number];

export interface MfaDecision {
  status: MfaStatus;
  /** True when protected routes respond with 428 now. */
  enrollmentRequired: boolean;
  /** True when the window has to be opened: the role requires a factor and the user has no window yet. */
  opensGrace: boolean;
  /** The end of an open window, else null. */
  deadline: Date | null;
  allowedMethods: MfaMethod[];
}

export const DEFAULT_GRACE_DAYS = 14;
export const MAX_GRACE_DAYS = 30;
const DAY_MS = 86_400_000;

/**
 * Decides whether a user must have a factor; used by login, refresh, access checks and lists alike. A setting applies at
 * once; a role leaves an enrollment window to users who never had a factor; system scope is exempt.
 * @see docs/reference/mfa-and-policies.md
 */
export function evaluateMfa(input: MfaPolicyInput, switches: MfaSwitches): MfaDecision {
  const allowedMethods = allowedMfaMethods(input.partnerSecurity, input.organizationSecurity);
  const decide = (status: MfaStatus, deadline: Date | null = null, opensGrace = false): MfaDecision => ({
    status,
    enrollmentRequired: status === 'overdue',
    opensGrace,
    deadline,
    allowedMethods,
  });

  if (input.hasFactor) return decide('enrolled');
  if (!switches.enabled || input.scope === 'system') return decide('not_required');
  if (input.partnerSecurity?.requireMfa || input.organizationSecurity?.requireMfa) return decide('overdue');
  if (!input.roleForcesMfa || !switches.forceByRole) return decide('not_required');
  if (input.everHadFactor) return decide('overdue');

  const days = graceDays(input.partnerSecurity);
  if (days === 0) return decide('overdue');
  const deadline = graceEnd(input, days);
  if (deadline === null) return decide('pending', null, true);
  return input.now < deadline ? decide('pending', deadline) : decide('overdue', deadline);
}

/**
 * Returns true when this membership would require a factor if the user removed its own. Settings that cannot be read
 * count as a requirement, because this is asked before a factor is removed.
 * @see docs/reference/mfa-and-policies.md
 */
export function requiresFactor(input: MfaPolicyInput, switches: MfaSwitches): boolean {
  const decision = evaluateMfa({ ...input, hasFactor: false, everHadFactor: true }, switches);
  const unreadable = [input.partnerSecurity, input.organizationSecurity].some(isUnreadable);
  return decision.enrollmentRequired || (unreadable && switches.enabled && input.scope !== 'system');
}

function isUnreadable(settings: unknown): boolean {
  if (settings === null) return false;
  if (typeof settings !== 'object' || Array.isArray(settings)) return true;
  return typeof ((settings as SecuritySettings).requireMfa ?? false) !== 'boolean';
}

/** Returns the days of the enrollment window: 0 to 30, 14 when the partner has no setting. */
export function graceDays(partnerSecurity: SecuritySettings | null): number {
  const days = partnerSecurity?.mfaEnrollmentGraceDays ?? DEFAULT_GRACE_DAYS;
  return Math.min(Math.max(Math.trunc(days), 0), MAX_GRACE_DAYS);
}

/** Returns the earlier of the stored end and the partner's current days: a partner may shorten a window, never extend it. */
function graceEnd({ graceGrantedAt, enrollmentDeadline }: MfaPolicyInput, days: number): Date | null {
  if (!graceGrantedAt || !enrollmentDeadline) return null;
  return new Date(Math.min(enrollmentDeadline.getTime(), graceGrantedAt.getTime() + days * DAY_MS));
}

/** Returns the allowed methods: TOTP and SMS unless partner or organization excludes them; passkeys always. */
export function allowedMfaMethods(...owners: (SecuritySettings | null)[]): MfaMethod[] {
  const allows = (method: 'totp' | 'sms') => owners.every((owner) => owner?.allowedMfaMethods?.[method] !== false);
  return (['totp', 'sms', 'passkey'] as const).filter((method) => method === 'passkey' || allows(method));
}

/** Returns the input about a user in one of its memberships. */
export const toMfaPolicyInput = (user: User, membership: UserMembership): MfaPolicyInput => ({
  scope: membership.scope,
  roleForcesMfa: membership.roleForcesMfa,
  partnerSecurity: membership.partnerSecurity,
  organizationSecurity: membership.organizationSecurity,
  hasFactor: user.mfaEnabled,
  everHadFactor: user.firstFactorAt !== null,
  graceGrantedAt: user.graceGrantedAt,
  enrollmentDeadline: user.enrollmentDeadline,
  now: user.now,
});
