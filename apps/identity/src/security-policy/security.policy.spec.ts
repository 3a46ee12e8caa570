import { changePolicy, passwordMinLength, sessionLifetimeHours, tightensMfa } from './security.policy.js';

const owners = (partnerSecurity: object | null, organizationSecurity: object | null) => ({
  partnerSecurity,
  organizationSecurity,
});

describe('a change of a security policy', () => {
  it('merges per field and per method, and removes what is null', () => {
    const stored = { requireMfa: true, sessionLifetimeHours: 8, allowedMfaMethods: { sms: false } };
    expect(changePolicy(stored, { sessionLifetimeHours: null, allowedMfaMethods: { totp: true } })).toEqual({
      requireMfa: true,
      allowedMfaMethods: { sms: false, totp: true },
    });
    expect(changePolicy(stored, { allowedMfaMethods: { sms: null } })).not.toHaveProperty('allowedMfaMethods');
    expect(changePolicy(stored, null)).toEqual({});
  });

  it.each([
    [{}, { requireMfa: true }, true],
    [{ requireMfa: true }, { requireMfa: true }, false],
    [{}, { allowedMfaMethods: { sms: false } }, true],
    [{ allowedMfaMethods: { sms: false } }, {}, false],
    [{ requireMfa: true }, {}, false],
  ])('from %j to %j is stricter: %s', (before, after, expected) => {
    expect(tightensMfa(before, after)).toBe(expected);
  });
});

describe('the policies of a membership', () => {
  it('limit sessions to the shorter lifetime', () => {
    expect(sessionLifetimeHours(owners({ sessionLifetimeHours: 8 }, { sessionLifetimeHours: 4 }))).toBe(4);
    expect(sessionLifetimeHours(owners({ sessionLifetimeHours: 8 }, null))).toBe(8);
    expect(sessionLifetimeHours(owners(null, null))).toBeNull();
  });

  it('require the greatest password length of all memberships', () => {
    const memberships = [owners({ passwordMinLength: 12 }, null), owners(null, { passwordMinLength: 16 })];
    expect(passwordMinLength(memberships)).toBe(16);
    expect(passwordMinLength([])).toBe(0);
  });
});
