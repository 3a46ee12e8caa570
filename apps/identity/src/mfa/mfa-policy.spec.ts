import { allowedMfaMethods, demandsFactor, judgeMfa, type MfaFacts, type SecuritySettings } from './mfa-policy.js';

const now = new Date('2026-11-20T12:00:00Z');
const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000);
const facts = (over: Partial<MfaFacts> = {}): MfaFacts => ({
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

describe('the MFA policy', () => {
  it('asks nothing where nothing demands a factor', () => {
    expect(judgeMfa(facts(), on)).toMatchObject({ status: 'not_required', enrollmentRequired: false });
  });

  it('bites at once by setting of partner or organization, whatever the variable says', () => {
    for (const owner of ['partnerSecurity', 'organizationSecurity']) {
      const verdict = judgeMfa(facts({ [owner]: { requireMfa: true } }), { enabled: true, forceByRole: false });
      expect(verdict).toMatchObject({ status: 'overdue', enrollmentRequired: true, opensGrace: false });
    }
  });

  it('opens a window by role, only while the variable is on', () => {
    const forced = facts({ roleForcesMfa: true });
    expect(judgeMfa(forced, on)).toMatchObject({ status: 'pending', opensGrace: true, enrollmentRequired: false });
    expect(judgeMfa(forced, { enabled: true, forceByRole: false }).status).toBe('not_required');
  });

  it('demands the factor when the window is over', () => {
    const window = { roleForcesMfa: true, graceGrantedAt: inDays(-14), enrollmentDeadline: inDays(0) };
    expect(judgeMfa(facts(window), on)).toMatchObject({ status: 'overdue', enrollmentRequired: true });
    expect(judgeMfa(facts({ ...window, now: inDays(-1) }), on)).toMatchObject({ status: 'pending', opensGrace: false });
  });

  it('lets a partner shorten an open window, but not stretch it', () => {
    const window = { roleForcesMfa: true, graceGrantedAt: inDays(-5), enrollmentDeadline: inDays(9) };
    const shortened = judgeMfa(facts({ ...window, partnerSecurity: { mfaEnrollmentGraceDays: 3 } }), on);
    expect(shortened).toMatchObject({ status: 'overdue', deadline: inDays(-2) });
    const stretched = judgeMfa(facts({ ...window, partnerSecurity: { mfaEnrollmentGraceDays: 30 } }), on);
    expect(stretched).toMatchObject({ status: 'pending', deadline: inDays(9) });
  });

  it('gives no window to users who held a factor, nor where the partner set zero days', () => {
    expect(judgeMfa(facts({ roleForcesMfa: true, everHadFactor: true }), on).enrollmentRequired).toBe(true);
    const zero = facts({ roleForcesMfa: true, partnerSecurity: { mfaEnrollmentGraceDays: 0 } });
    expect(judgeMfa(zero, on).enrollmentRequired).toBe(true);
  });

  it('never asks the platform administrator, an enrolled user, or anybody while two-factor is off', () => {
    const demanded = { partnerSecurity: { requireMfa: true } };
    expect(judgeMfa(facts({ ...demanded, scope: 'system' }), on).status).toBe('not_required');
    expect(judgeMfa(facts({ ...demanded, hasFactor: true }), on).status).toBe('enrolled');
    expect(judgeMfa(facts(demanded), { enabled: false, forceByRole: true }).status).toBe('not_required');
  });

  it('allows a method unless one owner excludes it; passkeys always', () => {
    expect(allowedMfaMethods(null, null)).toEqual(['totp', 'sms', 'passkey']);
    expect(allowedMfaMethods({ allowedMfaMethods: { sms: false } }, null)).toEqual(['totp', 'passkey']);
    expect(allowedMfaMethods({ allowedMfaMethods: { sms: false } }, { allowedMfaMethods: { totp: false } })).toEqual([
      'passkey',
    ]);
  });

  it('demands that a factor stays where it would be asked for at once, whatever window there was', () => {
    const enrolled = { hasFactor: true, everHadFactor: true };
    expect(demandsFactor(facts(enrolled), on)).toBe(false);
    expect(demandsFactor(facts({ ...enrolled, organizationSecurity: { requireMfa: true } }), on)).toBe(true);
    const forced = facts({
      ...enrolled,
      roleForcesMfa: true,
      graceGrantedAt: inDays(0),
      enrollmentDeadline: inDays(14),
    });
    expect(demandsFactor(forced, on)).toBe(true);
    expect(demandsFactor(forced, { enabled: true, forceByRole: false })).toBe(false);
    expect(demandsFactor(facts({ partnerSecurity: { requireMfa: true }, scope: 'system' }), on)).toBe(false);
  });

  it.each(['yes', [], { requireMfa: 'no' }, { requireMfa: 1 }])(
    'takes settings that make no sense for a demand when a factor would be lost, and only then: %j',
    (garbled) => {
      const unreadable = facts({ partnerSecurity: garbled as unknown as SecuritySettings });
      expect(demandsFactor(unreadable, on)).toBe(true);
      expect(demandsFactor(unreadable, { enabled: false, forceByRole: true })).toBe(false);
      expect(demandsFactor({ ...unreadable, scope: 'system' }, on)).toBe(false);
    },
  );
});
