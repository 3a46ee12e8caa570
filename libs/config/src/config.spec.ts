import { FLEET_ENVIRONMENT } from '@rmm/testing-services';
import { ConfigError, readConfig } from './config-reader.js';
import { readFleetConfig, readOutboundExtraAllowedCidrs } from './fleet.config.js';

function problemsOf(changes: NodeJS.ProcessEnv, outbound = false): readonly string[] {
  try {
    readConfig({ ...FLEET_ENVIRONMENT, ...changes }, (v) => {
      const config = readFleetConfig(v, 'webhook-dispatcher');
      if (outbound) readOutboundExtraAllowedCidrs(v, config);
      return config;
    });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

const configOf = (changes: NodeJS.ProcessEnv) =>
  readConfig({ ...FLEET_ENVIRONMENT, ...changes }, (v) => readFleetConfig(v, 'provisioning'));

const PRODUCTION = {
  NODE_ENV: 'production',
  REDIS_URL: 'redis://:secret@redis:6379',
  NATS_URL: 'nats://provisioning:secret@nats-1:4222,nats-2:4222',
  TRUSTED_PROXY_CIDRS: 'none',
};

describe('the configuration of every service', () => {
  it('has the documented defaults', () => {
    const config = configOf({ PORT: '', LOG_LEVEL: '', PUBLIC_API_URL: 'https://api.fleet.example/' });
    expect(config).toMatchObject({
      port: 4004,
      logLevel: 'info',
      isHosted: true,
      pools: { serviceMax: 8, workerMax: 4 },
      publicApiUrl: 'https://api.fleet.example',
      corsOrigins: ['https://app.fleet.example'],
      trustedProxyCidrs: [],
      forceHttps: false,
      rateLimitsEnabled: true,
      globalRateLimitPerMinute: 300,
      shutdownGraceSeconds: 20,
      shutdownDelaySeconds: 0,
      version: 'local',
      jwtIssuer: 'service-identity',
      jwtAudience: 'service-api',
    });
    expect(Object.isFrozen(config) && Object.isFrozen(config.pools)).toBe(true);
  });

  it('gives attempts of the dispatcher 45 seconds to end', () => {
    const config = readConfig(FLEET_ENVIRONMENT, (v) => readFleetConfig(v, 'webhook-dispatcher'));
    expect(config.shutdownGraceSeconds).toBe(45);
  });

  it('lists every problem at once without passwords', () => {
    const problems = problemsOf({
      DATABASE_URL: '',
      REDIS_URL: 'http://:hunter2@redis',
      PORT: '15s',
      DB_POOL_MAX: '501',
      LOG_LEVEL: 'loud',
      FORCE_HTTPS: 'yes',
      TRUSTED_PROXY_CIDRS: '10.0.0.0/8, 10.0.0.0/33',
      REDIS_CLUSTER_NODES: 'redis-1:6379,redis://:hunter2@redis-2:6379',
      CORS_ORIGINS: '*',
    });
    expect([...problems].sort()).toEqual(
      [
        'LOG_LEVEL must be one of trace, debug, info, warn, error, got "loud"',
        'PORT must be 0 to 65535, got "15s"',
        'DATABASE_URL is required',
        'DB_POOL_MAX must be 1 to 500, got "501"',
        'REDIS_URL must be a URL with redis or rediss, got http',
        'REDIS_CLUSTER_NODES must list servers like redis-1.example:6379',
        'CORS_ORIGINS must list origins, wildcards are refused, got "*"',
        'TRUSTED_PROXY_CIDRS must list CIDR ranges, got "10.0.0.0/33"',
        'FORCE_HTTPS must be true or false, got "yes"',
      ].sort(),
    );
    expect(problems.join()).not.toContain('hunter2');
  });

  it('reports every problem in one message', () => {
    expect(() => configOf({ PORT: 'x', DB_POOL_MAX: 'y' })).toThrow(
      /2 problem\(s\):\n {2}- PORT must be 0 to 65535, got "x"\n {2}- DB_POOL_MAX must be 1 to 500, got "y"/,
    );
  });

  it.each([
    ['a Redis without password', { REDIS_URL: 'redis://redis:6379' }, 'REDIS_URL must carry a password in production'],
    [
      'a NATS without login',
      { NATS_URL: 'nats://nats:4222' },
      'NATS_URL must carry the login of the service in production',
    ],
    [
      'a NATS login without password',
      { NATS_URL: 'nats://provisioning:@nats:4222' },
      'NATS_URL must carry the login of the service in production',
    ],
    [
      'the password of development',
      { WORKER_DATABASE_URL: 'postgres://identity_worker:fleet@postgres/rmm' },
      'WORKER_DATABASE_URL must not carry the password of development in production',
    ],
    ['limits that are off', { RATE_LIMITS_ENABLED: 'false' }, 'RATE_LIMITS_ENABLED must not be false in production'],
    [
      'https without trusted proxies',
      { TRUSTED_PROXY_CIDRS: '' },
      'TRUSTED_PROXY_CIDRS is required in production with an https PUBLIC_API_URL: ranges, or none',
    ],
    ['no public address', { PUBLIC_API_URL: '' }, 'PUBLIC_API_URL is required in production'],
    [
      'plain HTTP where it is hosted',
      { PUBLIC_APP_URL: 'http://app.fleet.example' },
      'PUBLIC_APP_URL must be https where the fleet is hosted',
    ],
  ])('refuses %s in production', (_, changes, problem) => {
    expect(problemsOf({ ...PRODUCTION, ...changes })).toContain(problem);
    const { NATS_URL, REDIS_URL } = FLEET_ENVIRONMENT;
    expect(problemsOf({ ...changes, REDIS_URL, NATS_URL })).toEqual([]);
  });

  it('accepts plain HTTP of a self-hosted fleet in production', () => {
    const urls = { PUBLIC_API_URL: 'http://10.0.0.5:8080', PUBLIC_APP_URL: 'http://10.0.0.5:8080' };
    expect(problemsOf({ ...PRODUCTION, ...urls, IS_HOSTED: 'false' })).toEqual([]);
  });

  it.each([
    ['where the fleet is hosted', { IS_HOSTED: 'no' }],
    ['for another spelling of false', { IS_HOSTED: 'False' }],
    ['in production', { ...PRODUCTION, IS_HOSTED: 'false' }],
  ])('refuses extra outbound ranges %s', (_, changes) => {
    const problems = problemsOf({ ...changes, OUTBOUND_EXTRA_ALLOWED_CIDRS: '127.0.0.0/8' }, true);
    expect(problems).toEqual([
      'OUTBOUND_EXTRA_ALLOWED_CIDRS must be empty in production and where the fleet is hosted',
    ]);
    expect(problemsOf({ IS_HOSTED: 'false', OUTBOUND_EXTRA_ALLOWED_CIDRS: '127.0.0.0/8' }, true)).toEqual([]);
  });
});

describe('the config reader', () => {
  it('counts an empty string as unset and trims', () => {
    const read = readConfig({ EMPTY: '  ', NAME: ' x ' }, (v) => ({
      empty: v.string('EMPTY', { default: 'default' }),
      name: v.string('NAME'),
      list: v.list('EMPTY', { default: ['a'] }),
    }));
    expect(read).toEqual({ empty: 'default', name: 'x', list: ['a'] });
  });

  it('reads JSON and never repeats its value', () => {
    const check = (value: unknown) => (typeof value === 'object' ? null : 'must be an object');
    expect(readConfig({ RING: '{"a":1}' }, (v) => v.json('RING', { check }))).toEqual({ a: 1 });
    expect(() => readConfig({ RING: '5' }, (v) => v.json('RING', { check }))).toThrow('RING must be an object');
    expect(() => readConfig({ RING: '{secret' }, (v) => v.json('RING'))).toThrow(/RING must be JSON$/);
  });
});
