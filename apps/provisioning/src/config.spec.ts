import { readProvisioningConfig } from './config.js';

const GOOD = {
  DATABASE_URL: 'postgres://service@localhost/rmm',
  WORKER_DATABASE_URL: 'postgres://worker@localhost/rmm',
  REDIS_URL: 'redis://:secret@localhost',
  NATS_URL: 'nats://localhost',
  JWKS_URL: 'http://localhost:4001/.well-known/jwks.json',
};

describe('readProvisioningConfig', () => {
  it('asks for no fleet-wide secret unless one is set, and enforces it in any case of the word', () => {
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

  it('tries the peppers in the order of the contract', () => {
    const { peppers } = readProvisioningConfig({
      ...GOOD,
      JWT_SECRET: 'third',
      ENROLLMENT_KEY_PEPPER: 'first',
    }).enrollment;
    expect(peppers).toEqual({ current: 'first', legacy: ['third'] });
  });

  it('lists every problem at once, the missing pepper of production among them', () => {
    const read = () =>
      readProvisioningConfig({
        ...GOOD,
        NODE_ENV: 'production',
        JWKS_URL: '',
        ENROLLMENT_SECRET_ENFORCEMENT_MODE: 'maybe',
      });
    expect(read).toThrow(/No enrollment key pepper configured/);
    expect(read).toThrow(/JWKS_URL is required/);
    expect(read).toThrow(/ENROLLMENT_SECRET_ENFORCEMENT_MODE must be one of/);
  });
});
