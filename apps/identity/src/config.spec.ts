import { ConfigError } from '@rmm/service-kit';
import { readIdentityConfig } from './config.js';

const needed = {
  NODE_ENV: 'test',
  DATABASE_URL: 'postgres://a:b@localhost/rmm',
  WORKER_DATABASE_URL: 'postgres://c:d@localhost/rmm',
  REDIS_URL: 'redis://:x@localhost',
  NATS_URL: 'nats://localhost',
  SECRET_ENCRYPTION_KEY: 'x'.repeat(32),
};
const read = (over: NodeJS.ProcessEnv = {}) => readIdentityConfig({ ...needed, ...over });
const problems = (over: NodeJS.ProcessEnv): readonly string[] => {
  try {
    read(over);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

describe('the configuration of identity', () => {
  it('has documented defaults', () => {
    expect(read()).toMatchObject({
      port: 4001,
      accessTokenTtlSeconds: 900,
      refreshRotationGraceSeconds: 15,
      refreshTokenTtlDays: 7,
      refreshFamilyAbsoluteTtlDays: 30,
      authCookie: { sameSite: 'lax', forceSecure: false },
      registrationEnabled: false,
      mfa: { enabled: true, forceByRole: false },
      lockout: { max: 5, windowSeconds: 900 },
      argon2: { memoryKib: 19_456, timeCost: 2, parallelism: 1 },
      limits: { loginNarrow: { limit: 5, windowSeconds: 300, onRedisDown: 'refuse', countRefused: true } },
    });
  });

  it('enables registration and forced MFA only for true, and disables MFA only for false', () => {
    expect(read({ ENABLE_REGISTRATION: 'TRUE' }).registrationEnabled).toBe(false);
    expect(read({ ENABLE_REGISTRATION: 'true' }).registrationEnabled).toBe(true);
    expect(read({ ENABLE_2FA: 'no' }).mfa.enabled).toBe(true);
    expect(read({ ENABLE_2FA: 'false' }).mfa.enabled).toBe(false);
    expect(read({ MFA_FORCE_FOR_PARTNER_ADMIN: '1' }).mfa.forceByRole).toBe(false);
  });

  it('reads a rate limit from its variable', () => {
    expect(read({ RATE_LIMIT_LOGIN_NARROW: '9/60' }).limits.loginNarrow).toMatchObject({ limit: 9, windowSeconds: 60 });
    expect(problems({ RATE_LIMIT_LOGIN_NARROW: 'many' })).toHaveLength(1);
  });

  it('lists every problem at once', () => {
    const found = problems({
      REFRESH_TOKEN_TTL_DAYS: '20',
      REFRESH_FAMILY_ABSOLUTE_TTL_DAYS: '10',
      BOOTSTRAP_ADMIN_EMAIL: 'root@platform.test',
      JWT_SIGNING_KEYRING: '{"keys":[{"kty":"RSA","kid":"a"}]}',
      ACCESS_TOKEN_TTL_SECONDS: '5',
    });
    expect(found).toEqual([
      expect.stringContaining('ACCESS_TOKEN_TTL_SECONDS must be 60 to 3600'),
      expect.stringContaining('REFRESH_FAMILY_ABSOLUTE_TTL_DAYS'),
      expect.stringContaining('JWT_SIGNING_KEYRING must be a JWK set of private P-256 keys'),
      expect.stringContaining('BOOTSTRAP_ADMIN_EMAIL and BOOTSTRAP_ADMIN_PASSWORD'),
    ]);
  });

  it('refuses low hash costs and a missing pepper in production', () => {
    const found = problems({ NODE_ENV: 'production', ARGON2_MEMORY_KIB: '4096' });
    expect(found.join('\n')).toContain('MFA_RECOVERY_CODE_PEPPER');
    expect(found.join('\n')).toContain('ARGON2_MEMORY_KIB must be 19456');
  });
});
