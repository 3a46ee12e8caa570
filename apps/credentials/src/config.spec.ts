import { readCredentialsConfig } from './config.js';

const GOOD = {
  DATABASE_URL: 'postgres://service@localhost/rmm',
  WORKER_DATABASE_URL: 'postgres://worker@localhost/rmm',
  REDIS_URL: 'redis://:secret@localhost',
  NATS_URL: 'nats://localhost',
  JWKS_URL: 'http://localhost:4001/.well-known/jwks.json',
};
const PRODUCTION = {
  TRUSTED_PROXY_CIDRS: 'none',
  ...GOOD,
  NODE_ENV: 'production',
  NATS_URL: 'nats://credentials:secret@localhost',
  PUBLIC_API_URL: 'https://api.example.com',
  PUBLIC_APP_URL: 'https://app.example.com',
};
const SECRETS_KEYRING = JSON.stringify({ a: Buffer.alloc(32, 1).toString('base64') });
/** Long enough for every use it has. */
const SECRET = 'a'.repeat(64);

describe('readCredentialsConfig', () => {
  it('requires a pepper in production and lists it with the other problems', () => {
    expect(() => readCredentialsConfig(PRODUCTION)).toThrow('No enrollment key pepper configured');
    const read = () => readCredentialsConfig({ ...PRODUCTION, ENROLLMENT_KEY_PEPPER: '', JWKS_URL: '' });
    expect(read).toThrow(/No enrollment key pepper configured/);
    expect(read).toThrow(/JWKS_URL is required/);
  });

  it.each(['ENROLLMENT_KEY_PEPPER', 'APP_ENCRYPTION_KEY', 'SECRET_ENCRYPTION_KEY', 'JWT_SECRET'])(
    'takes %s for the pepper where it is the only one',
    (variable) => {
      const { enrollmentPeppers } = readCredentialsConfig({ ...PRODUCTION, SECRETS_KEYRING, [variable]: SECRET });
      expect(enrollmentPeppers).toEqual({ current: SECRET, legacy: [] });
    },
  );

  it('hashes new keys with ENROLLMENT_KEY_PEPPER when legacy secrets are set too', () => {
    const { enrollmentPeppers } = readCredentialsConfig({ ...GOOD, JWT_SECRET: 'old', ENROLLMENT_KEY_PEPPER: 'new' });
    expect(enrollmentPeppers).toEqual({ current: 'new', legacy: ['old'] });
  });

  it('requires a sealing key in production', () => {
    const read = () => readCredentialsConfig({ ...PRODUCTION, ENROLLMENT_KEY_PEPPER: SECRET });
    expect(read).toThrow(/SECRETS_KEYRING or SECRET_ENCRYPTION_KEY is required/);
    const { secrets } = readCredentialsConfig({ ...PRODUCTION, ENROLLMENT_KEY_PEPPER: SECRET, SECRETS_KEYRING });
    expect(secrets.keyRing.activeKid).toBe('a');
  });

  it('stores responses for a day by default', () => {
    const hours = (IDEMPOTENCY_TTL_HOURS?: string) =>
      readCredentialsConfig({ ...GOOD, IDEMPOTENCY_TTL_HOURS }).idempotencyTtlHours;
    expect([hours(), hours('168')]).toEqual([24, 168]);
    expect(() => hours('0')).toThrow(/IDEMPOTENCY_TTL_HOURS/);
  });

  it('defaults to a lifetime of 30 days and accepts a year at most', () => {
    const minutes = (value?: string) =>
      readCredentialsConfig({ ...GOOD, ENROLLMENT_KEY_DEFAULT_TTL_MINUTES: value }).enrollmentKeyDefaultTtlMinutes;
    expect([minutes(), minutes('1'), minutes('525600')]).toEqual([43_200, 1, 525_600]);
    for (const refused of ['0', '525601', '30 days']) {
      expect(() => minutes(refused)).toThrow(/ENROLLMENT_KEY_DEFAULT_TTL_MINUTES/);
    }
  });
});
