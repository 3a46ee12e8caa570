import { enrollmentPeppers } from './enrollment-peppers.js';

describe('enrollmentPeppers', () => {
  it('prefers its own variable and keeps the legacy ones in order', () => {
    expect(
      enrollmentPeppers({
        JWT_SECRET: 'j',
        SECRET_ENCRYPTION_KEY: 's',
        APP_ENCRYPTION_KEY: 'a',
        ENROLLMENT_KEY_PEPPER: 'e',
      }),
    ).toEqual({ current: 'e', legacy: ['a', 's', 'j'] });
  });

  it('takes the first legacy secret that is set when its own is not', () => {
    expect(enrollmentPeppers({ ENROLLMENT_KEY_PEPPER: '', SECRET_ENCRYPTION_KEY: 's', JWT_SECRET: 'j' })).toEqual({
      current: 's',
      legacy: ['j'],
    });
  });

  it('tries a secret that stands in two variables once', () => {
    expect(enrollmentPeppers({ ENROLLMENT_KEY_PEPPER: 'x', JWT_SECRET: 'x' })).toEqual({ current: 'x', legacy: [] });
  });

  it('has a fixed value in development and refuses to go without one in production', () => {
    expect(enrollmentPeppers({})).toEqual(enrollmentPeppers({ NODE_ENV: 'test' }));
    expect(() => enrollmentPeppers({ NODE_ENV: 'production', JWT_SECRET: '' })).toThrow(
      'No enrollment key pepper configured',
    );
  });
});
