import { ValidationError } from '@rmm/service-kit';
import { assertPartnerSettings, maxEnrollmentTtl, mergePartnerSettings } from './partner-settings.js';

describe('settings of a partner', () => {
  it.each([{}, { enrollment: null }, { enrollment: {} }, { enrollment: { maxTtlMinutes: 1 } }, { locale: 'de-AT' }])(
    'accept %j',
    (settings) => expect(() => assertPartnerSettings(settings)).not.toThrow(),
  );

  it('accept other keys of clients', () => {
    expect(() => assertPartnerSettings({ theme: { color: 'red' }, locale: null })).not.toThrow();
  });

  it.each([
    { enrollment: 'x' },
    { enrollment: [] },
    { enrollment: { maxTtl: 5 } },
    ...['x', 1.5, 0, -1, true, {}, null, 525_601].map((maxTtlMinutes) => ({ enrollment: { maxTtlMinutes } })),
    { locale: 'not a tag' },
    { locale: 5 },
  ])('refuse %j', (settings) => expect(() => assertPartnerSettings(settings)).toThrow(ValidationError));

  it('merge per key and keep the stored policy unless the request names one', () => {
    const stored = { security: { requireMfa: true }, theme: 'dark' };
    expect(mergePartnerSettings(stored, { theme: null, a: 1, security: { requireMfa: false } }, undefined)).toEqual({
      security: { requireMfa: true },
      a: 1,
    });
    expect(mergePartnerSettings(stored, undefined, null)).toEqual({ security: {}, theme: 'dark' });
  });

  it('have at most 64 KB after the merge, the policy included', () => {
    const stored = { a: 'x'.repeat(60_000) };
    expect(() => mergePartnerSettings(stored, { b: 'x'.repeat(6_000) }, undefined)).toThrow(ValidationError);
    const ipAllowlist = Array.from({ length: 200 }, (_, n) => `2001:db8:0:0:0:0:0:${n}/128 (a very long spelling)`);
    expect(() => mergePartnerSettings(stored, undefined, { ipAllowlist })).toThrow(ValidationError);
  });

  it('name the cap on enrollment keys', () => {
    expect(maxEnrollmentTtl({ enrollment: { maxTtlMinutes: 60 } })).toBe(60);
    expect(maxEnrollmentTtl({})).toBeNull();
  });
});
