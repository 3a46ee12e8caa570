import { readConfig } from '@rmm/config';
import { readEnrollmentPeppers } from './enrollment-peppers.js';

const read = (env: Record<string, string>) => readConfig(env, readEnrollmentPeppers);

describe('readEnrollmentPeppers', () => {
  it('uses ENROLLMENT_KEY_PEPPER and returns the legacy peppers in order', () => {
    const env = { JWT_SECRET: 'j', SECRET_ENCRYPTION_KEY: 's', APP_ENCRYPTION_KEY: 'a', ENROLLMENT_KEY_PEPPER: 'e' };
    expect(read(env)).toEqual({ current: 'e', legacy: ['a', 's', 'j'] });
  });

  it('uses the first legacy secret when ENROLLMENT_KEY_PEPPER is not set', () => {
    const env = { ENROLLMENT_KEY_PEPPER: '', SECRET_ENCRYPTION_KEY: 's', JWT_SECRET: 'j' };
    expect(read(env)).toEqual({ current: 's', legacy: ['j'] });
  });

  it('returns a secret that is set in two variables once', () => {
    expect(read({ ENROLLMENT_KEY_PEPPER: 'x', JWT_SECRET: 'x' })).toEqual({ current: 'x', legacy: [] });
  });

  it('returns a constant in development and refuses production without a secret', () => {
    expect(read({})).toEqual(read({ NODE_ENV: 'test' }));
    const production = () => read({ NODE_ENV: 'production', JWT_SECRET: '' });
    expect(production).toThrow('No enrollment key pepper configured');
  });
});
