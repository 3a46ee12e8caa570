import { enrollmentPeppers } from './enrollment-peppers.js';

describe('enrollmentPeppers', () => {
  it('uses ENROLLMENT_KEY_PEPPER and returns the legacy peppers in order', () => {
    expect(
      enrollmentPeppers({
        JWT_SECRET: 'j',
        SECRET_ENCRYPTION_KEY: 's',
        APP_ENCRYPTION_KEY: 'a',
        ENROLLMENT_KEY_PEPPER: 'e',
      }),
    ).toEqual({ current: 'e', legacy: ['a', 's', 'j'] });
  });

  it('uses the first legacy secret when ENROLLMENT_KEY_PEPPER is not set', () => {
    expect(enrollmentPeppers({ ENROLLMENT_KEY_PEPPER: '', SECRET_ENCRYPTION_KEY: 's', JWT_SECRET: 'j' })).toEqual({
      current: 's',
      legacy: ['j'],
    });
  });

  it('returns a secret that is set in two variables once', () => {
    expect(enrollmentPeppers({ ENROLLMENT_KEY_PEPPER: 'x', JWT_SECRET: 'x' })).toEqual({ current: 'x', legacy: [] });
  });

  it('returns a constant in development and throws in production when none is set', () => {
    expect(enrollmentPeppers({})).toEqual(enrollmentPeppers({ NODE_ENV: 'test' }));
    expect(() => enrollmentPeppers({ NODE_ENV: 'production', JWT_SECRET: '' })).toThrow(
      'No enrollment key pepper configured',
    );
  });
});
