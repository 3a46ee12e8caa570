import {
  allowedMfaMethods,
  requiresFactor,
  evaluateMfa,
  type MfaPolicyInput,
  type SecuritySettings,
} from './mfa.policy.js';

const now = new Date('2026-11-20T12:00:00Z');
const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000);
const input = (over: Partial<MfaPolicyInput> = {}): MfaPolicyInput => ({
  scope: 'partner',
  roleForcesMfa: false,
  partnerSecurity: null,
  organizationSecurity: null,
  hasFactor: false,
  everHadFactor: false,
  graceGrantedAt: null,
  enrollmentDeadline: null,
  now,
  ...over,
});
const on = { enabled: true, forceByRole: true };

describe('evaluateMfa', () => {
  it('requires no factor without a setting or role', () => {
    expect(evaluateMfa(input(), on)).toMatchObject({ status: 'not_required', enrollmentRequired: false });
  });

  it('requires a factor at once by a setting of partner or organization', () => {
    for (const owner of ['partnerSecurity', 'organizationSecurity']) {
      const result = evaluateMfa(input({ [owner]: { requireMfa: true } }), { enabled: true, forceByRole: false });
      expect(result).toMatchObject({ status: 'overdue', enrollmentRequired: true, opensGrace: false });
    }
  });

  it('opens a window by role only while the variable is set', () => {
    const forced = input({ roleForcesMfa: true });
    expect(evaluateMfa(forced, on)).toMatchObject({ status: 'pending', opensGrace: true, enrollmentRequired: false });
    expect(evaluateMfa(forced, { enabled: true, forceByRole: false }).status).toBe('not_required');
  });

  it('requires the factor when the window has ended', () => {
    const window = { roleForcesMfa: true, graceGrantedAt: inDays(-14), enrollmentDeadline: inDays(0) };
    expect(evaluateMfa(input(window), on)).toMatchObject({ status: 'overdue', enrollmentRequired: true });
    expect(evaluateMfa(input({ ...window, now: inDays(-1) }), on)).toMatchObject({
      status: 'pending',
      opensGrace: false,
    });
  });

  it('lets a partner shorten an open window and not extend it', () => {
    const window = { roleForcesMfa: true, graceGrantedAt: inDays(-5), enrollmentDeadline: inDays(9) };
    const shortened = evaluateMfa(input({ ...window, partnerSecurity: { mfaEnrollmentGraceDays: 3 } }), on);
    expect(shortened).toMatchObject({ status: 'overdue', deadline: inDays(-2) });
    const stretched = evaluateMfa(input({ ...window, partnerSecurity: { mfaEnrollmentGraceDays: 30 } }), on);
    expect(stretched).toMatchObject({ status: 'pending', deadline: inDays(9) });
  });

  it('opens no window for users who had a factor or when the partner set zero days', () => {
    expect(evaluateMfa(input({ roleForcesMfa: true, everHadFactor: true }), on).enrollmentRequired).toBe(true);
    const zero = input({ roleForcesMfa: true, partnerSecurity: { mfaEnrollmentGraceDays: 0 } });
    expect(evaluateMfa(zero, on).enrollmentRequired).toBe(true);
  });

  it('requires nothing of platform administrators, enrolled users, or while MFA is disabled', () => {
    const required = { partnerSecurity: { requireMfa: true } };
    expect(evaluateMfa(input({ ...required, scope: 'system' }), on).status).toBe('not_required');
    expect(evaluateMfa(input({ ...required, hasFactor: true }), on).status).toBe('enrolled');
    expect(evaluateMfa(input(required), { enabled: false, forceByRole: true }).status).toBe('not_required');
  });

  it('allows a method unless a policy excludes it, and passkeys always', () => {
    expect(allowedMfaMethods(null, null)).toEqual(['totp', 'sms', 'passkey']);
    expect(allowedMfaMethods({ allowedMfaMethods: { sms: false } }, null)).toEqual(['totp', 'passkey']);
    expect(allowedMfaMethods({ allowedMfaMethods: { sms: false } }, { allowedMfaMethods: { totp: false } })).toEqual([
      'passkey',
    ]);
  });

  it('requires an existing factor to stay where a new one would be required at once', () => {
    const enrolled = { hasFactor: true, everHadFactor: true };
    expect(requiresFactor(input(enrolled), on)).toBe(false);
    expect(requiresFactor(input({ ...enrolled, organizationSecurity: { requireMfa: true } }), on)).toBe(true);
    const forced = input({
      ...enrolled,
      roleForcesMfa: true,
      graceGrantedAt: inDays(0),
      enrollmentDeadline: inDays(14),
    });
    expect(requiresFactor(forced, on)).toBe(true);
    expect(requiresFactor(forced, { enabled: true, forceByRole: false })).toBe(false);
    expect(requiresFactor(input({ partnerSecurity: { requireMfa: true }, scope: 'system' }), on)).toBe(false);
  });

  it.each(['yes', [], { requireMfa: 'no' }, { requireMfa: 1 }])(
    'requires a factor while settings are unreadable, except without MFA and in system scope: %j',
    (garbled) => {
      const unreadable = input({ partnerSecurity: garbled as unknown as SecuritySettings });
      expect(requiresFactor(unreadable, on)).toBe(true);
      expect(requiresFactor(unreadable, { enabled: false, forceByRole: true })).toBe(false);
      expect(requiresFactor({ ...unreadable, scope: 'system' }, on)).toBe(false);
    },
  );
});
