import type { AccessScope, PartnerSecurity } from '@rmm/contracts';

/** `settings.security` of a partner or an organization. */
export type SecuritySettings = PartnerSecurity;

/** What the policy needs to know about one user in one membership. */
export interface MfaFacts {
  scope: AccessScope;
  roleForcesMfa: boolean;
  partnerSecurity: SecuritySettings | null;
  organizationSecurity: SecuritySettings | null;
  hasFactor: boolean;
  everHadFactor: boolean;
  /** When the enrollment window was opened, and its stored end. */
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

export interface MfaVerdict {
  status: MfaStatus;
  /** True when protected routes answer 428 now. */
  enrollmentRequired: boolean;
  /** True when the window is to be opened: the role demands a factor and nobody opened it yet. */
  opensGrace: boolean;
  /** The end of an open window, else null. */
  deadline: Date | null;
  allowedMethods: ('totp' | 'sms' | 'passkey')[];
}

export const DEFAULT_GRACE_DAYS = 14;
export const MAX_GRACE_DAYS = 30;
const DAY_MS = 86_400_000;

/**
 * The one answer to "must this user have a factor?": for login, refresh, gates and lists alike.
 * A setting bites at once; a role leaves a window to users who never held a factor; system scope is never asked.
 * @see CONTRACT.md 5
 */
export function judgeMfa(facts: MfaFacts, switches: MfaSwitches): MfaVerdict {
  const allowedMethods = allowedMfaMethods(facts.partnerSecurity, facts.organizationSecurity);
  const verdict = (status: MfaStatus, deadline: Date | null = null, opensGrace = false): MfaVerdict => ({
    status,
    enrollmentRequired: status === 'overdue',
    opensGrace,
    deadline,
    allowedMethods,
  });

  if (facts.hasFactor) return verdict('enrolled');
  if (!switches.enabled || facts.scope === 'system') return verdict('not_required');
  if (facts.partnerSecurity?.requireMfa || facts.organizationSecurity?.requireMfa) return verdict('overdue');
  if (!facts.roleForcesMfa || !switches.forceByRole) return verdict('not_required');
  if (facts.everHadFactor) return verdict('overdue');

  const days = graceDays(facts.partnerSecurity);
  if (days === 0) return verdict('overdue');
  const deadline = graceEnd(facts, days);
  if (deadline === null) return verdict('pending', null, true);
  return facts.now < deadline ? verdict('pending', deadline) : verdict('overdue', deadline);
}

/**
 * Would this membership ask for a factor if the user gave its own up? Asked before one is lost, so settings that
 * nobody can make sense of count as a demand.
 * @see CONTRACT.md 5.1, "settings unreadable"
 */
export function demandsFactor(facts: MfaFacts, switches: MfaSwitches): boolean {
  const given = judgeMfa({ ...facts, hasFactor: false, everHadFactor: true }, switches);
  const unreadable = [facts.partnerSecurity, facts.organizationSecurity].some(isUnreadable);
  return given.enrollmentRequired || (unreadable && switches.enabled && facts.scope !== 'system');
}

function isUnreadable(settings: unknown): boolean {
  if (settings === null) return false;
  if (typeof settings !== 'object' || Array.isArray(settings)) return true;
  return typeof ((settings as SecuritySettings).requireMfa ?? false) !== 'boolean';
}

/** 0 to 30; 14 when the partner says nothing. */
export function graceDays(partnerSecurity: SecuritySettings | null): number {
  const days = partnerSecurity?.mfaEnrollmentGraceDays ?? DEFAULT_GRACE_DAYS;
  return Math.min(Math.max(Math.trunc(days), 0), MAX_GRACE_DAYS);
}

/** The earlier of the stored end and the partner's present days: a partner may shorten a window, never stretch it. */
function graceEnd({ graceGrantedAt, enrollmentDeadline }: MfaFacts, days: number): Date | null {
  if (!graceGrantedAt || !enrollmentDeadline) return null;
  return new Date(Math.min(enrollmentDeadline.getTime(), graceGrantedAt.getTime() + days * DAY_MS));
}

/** TOTP and SMS unless either owner says no; passkeys always. */
export function allowedMfaMethods(...owners: (SecuritySettings | null)[]): ('totp' | 'sms' | 'passkey')[] {
  const allows = (method: 'totp' | 'sms') => owners.every((owner) => owner?.allowedMfaMethods?.[method] !== false);
  return (['totp', 'sms', 'passkey'] as const).filter((method) => method === 'passkey' || allows(method));
}
