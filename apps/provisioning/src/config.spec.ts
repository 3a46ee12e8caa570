import { readProvisioningConfig } from './config.js';

const GOOD = {
  DATABASE_URL: 'postgres://service@localhost/rmm',
  WORKER_DATABASE_URL: 'postgres://worker@localhost/rmm',
  REDIS_URL: 'redis://:secret@localhost',
  NATS_URL: 'nats://localhost',
  JWKS_URL: 'http://localhost:4001/.well-known/jwks.json',
};

describe('readProvisioningConfig', () => {
  it('requires a fleet-wide secret only when one is set and reads the enforcement mode in any case', () => {
    expect(readProvisioningConfig(GOOD).enrollment).toMatchObject({
      fleetSecretHash: null,
      secretEnforcement: 'enforce',
    });
    const config = readProvisioningConfig({
      ...GOOD,
      AGENT_ENROLLMENT_SECRET: 's3cret',
      ENROLLMENT_SECRET_ENFORCEMENT_MODE: 'WARN',
    });
    expect(config.enrollment.secretEnforcement).toBe('warn');
    expect(config.enrollment.fleetSecretHash).toHaveLength(32);
  });

  it('orders the peppers from current to oldest', () => {
    const { peppers } = readProvisioningConfig({
      ...GOOD,
      JWT_SECRET: 'third',
      ENROLLMENT_KEY_PEPPER: 'first',
    }).enrollment;
    expect(peppers).toEqual({ current: 'first', legacy: ['third'] });
  });

  it('lists every problem, including the missing pepper in production', () => {
    const read = () =>
      readProvisioningConfig({
        ...GOOD,
        NODE_ENV: 'production',
        JWKS_URL: '',
        ENROLLMENT_SECRET_ENFORCEMENT_MODE: 'maybe',
        DEVICE_OFFLINE_AFTER_SECONDS: '59',
      });
    expect(read).toThrow(/DEVICE_OFFLINE_AFTER_SECONDS/);
    expect(read).toThrow(/SECRETS_KEYRING or SECRET_ENCRYPTION_KEY is required/);
    expect(read).toThrow(/No enrollment key pepper configured/);
    expect(read).toThrow(/JWKS_URL is required/);
    expect(read).toThrow(/ENROLLMENT_SECRET_ENFORCEMENT_MODE must be one of/);
  });

  it('reads the source of agent binaries: a folder or an address, not both', () => {
    const read = (env: NodeJS.ProcessEnv) => readProvisioningConfig({ ...GOOD, ...env }).agentReleases;
    const dir = import.meta.dirname;
    expect(read({})).toEqual({ dir: null, url: null });
    expect(read({ AGENT_RELEASE_DIR: dir })).toEqual({ dir, url: null });
    expect(read({ AGENT_RELEASE_URL: 'https://releases.example/v1/' })).toMatchObject({
      url: 'https://releases.example/v1',
    });
    const both = { AGENT_RELEASE_DIR: `${dir}/none`, AGENT_RELEASE_URL: 'http://releases.example' };
    const refused = () => read({ ...both, PUBLIC_API_URL: 'https://rmm.example' });
    expect(refused).toThrow(/must not both be set/);
    expect(refused).toThrow(/AGENT_RELEASE_DIR must be a folder/);
    expect(refused).toThrow(/AGENT_RELEASE_URL must be https when PUBLIC_API_URL is/);
  });

  it('enables dev push by default, and refuses a space below one build', () => {
    const read = (env: NodeJS.ProcessEnv) => readProvisioningConfig({ ...GOOD, ...env }).devPush;
    expect(read({})).toEqual({ enabled: true, maxStoredBytes: 1_000 * 1024 * 1024 });
    expect(read({ DEV_PUSH_ENABLED: 'false' }).enabled).toBe(false);
    expect(() => read({ DEV_PUSH_MAX_STORED_MB: '99' })).toThrow(/DEV_PUSH_MAX_STORED_MB/);
  });
});
