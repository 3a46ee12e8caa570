import type { ServiceName } from '@rmm/contracts';
import type { RateLimitsConfig } from '@rmm/rate-limits';
import type { TracingConfig } from '@rmm/tracing';
import type { Cidr } from '@rmm/validation';
import type { ConfigReader } from './config-reader.js';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The variables of every service. @see docs/reference/configuration.md */
export interface FleetConfig extends RateLimitsConfig, TracingConfig {
  service: ServiceName;
  nodeEnv: 'development' | 'test' | 'production';
  isProduction: boolean;
  isHosted: boolean;
  logLevel: LogLevel;
  /** The release, as the build names it; compared between instances. */
  version: string;
  port: number;
  /** Address the port is opened on; all interfaces when it is undefined. */
  bindAddress?: string;
  databaseUrl: string;
  /** Owner login; only to migrate. */
  migrationsDatabaseUrl?: string;
  workerDatabaseUrl: string;
  /** Worker login past a pooler in transaction mode; set when the two addresses above lead to such a pooler. */
  directWorkerDatabaseUrl?: string;
  /** Connections per process and login. */
  pools: { serviceMax: number; workerMax: number };
  redisUrl: string;
  /** Servers of a Redis Cluster, `host:port`, which have the login of `redisUrl`; empty with one server. */
  redisClusterNodes: readonly string[];
  natsUrl: string;
  /** `{base_url}`, without a trailing slash. */
  publicApiUrl: string;
  /** The target of links in mails and of sign-in; the account pages of identity unless another console is set. */
  publicAppUrl: string;
  corsOrigins: readonly string[];
  trustedProxyCidrs: readonly Cidr[];
  forceHttps: boolean;
  shutdownGraceSeconds: number;
  /** Readiness responds 503 for this long before the port closes, so that balancers look elsewhere. */
  shutdownDelaySeconds: number;
  jwtIssuer: string;
  jwtAudience: string;
}

const DEFAULT_PORTS: Record<ServiceName, number> = {
  identity: 4001,
  credentials: 4002,
  'partner-gateway': 4003,
  provisioning: 4004,
  'webhook-dispatcher': 4005,
};

const POSTGRES = ['postgres', 'postgresql'] as const;
const HTTP = ['http', 'https'] as const;
const HEADER_LIST = /^ *[\w-]+=([^,%]|%[0-9A-Fa-f]{2})+(, *[\w-]+=([^,%]|%[0-9A-Fa-f]{2})+)*$/;
const RATIO = /^(0(\.\d{1,6})?|1)$/;
const withoutSlash = (url: string | undefined) => url?.replace(/\/+$/, '');

/** Reads the variables of every service; problems are left in the reader. */
export function readFleetConfig(v: ConfigReader, service: ServiceName): FleetConfig {
  const nodeEnv = v.enum('NODE_ENV', ['development', 'test', 'production'], { default: 'development' });
  const port = v.integer('PORT', { min: 0, max: 65_535, default: DEFAULT_PORTS[service] });
  const publicApiUrl = withoutSlash(v.url('PUBLIC_API_URL', { protocols: HTTP })) ?? 'http://localhost:8080';
  const publicAppUrl = withoutSlash(v.url('PUBLIC_APP_URL', { protocols: HTTP })) ?? `${publicApiUrl}/account`;
  const isProduction = nodeEnv === 'production';
  const graceSeconds = service === 'webhook-dispatcher' ? 45 : 20; // an attempt in flight lasts up to 30 s
  const config: FleetConfig = {
    service,
    nodeEnv,
    isProduction,
    isHosted: v.string('IS_HOSTED') !== 'false',
    logLevel: v.enum('LOG_LEVEL', LOG_LEVELS, { default: 'info' }),
    version: v.string('BUILD_VERSION', { pattern: /^[\w.+-]{1,64}$/, default: 'local' }),
    port,
    bindAddress: v.string('BIND_ADDRESS'),
    databaseUrl: v.url('DATABASE_URL', { protocols: POSTGRES, required: true, secret: true }),
    migrationsDatabaseUrl: v.url('MIGRATIONS_DATABASE_URL', { protocols: POSTGRES, secret: true }),
    workerDatabaseUrl: v.url('WORKER_DATABASE_URL', { protocols: POSTGRES, required: true, secret: true }),
    directWorkerDatabaseUrl: v.url('DIRECT_WORKER_DATABASE_URL', { protocols: POSTGRES, secret: true }),
    pools: {
      serviceMax: v.integer('DB_POOL_MAX', { min: 1, max: 500, default: 8 }),
      workerMax: v.integer('WORKER_DB_POOL_MAX', { min: 1, max: 500, default: 4 }),
    },
    redisUrl: v.url('REDIS_URL', { protocols: ['redis', 'rediss'], required: true, secret: true }),
    redisClusterNodes: v.list('REDIS_CLUSTER_NODES', { secret: true, check: checkHostAndPort }),
    natsUrl: v.string('NATS_URL', { required: true, secret: true }),
    publicApiUrl,
    publicAppUrl,
    corsOrigins: v.list('CORS_ORIGINS', { default: [new URL(publicAppUrl).origin], check: checkOrigin }),
    trustedProxyCidrs: v.cidrs('TRUSTED_PROXY_CIDRS', { none: true }),
    forceHttps: v.boolean('FORCE_HTTPS', { default: false }),
    rateLimitsEnabled: v.boolean('RATE_LIMITS_ENABLED', { default: true }),
    globalRateLimitPerMinute: v.integer('GLOBAL_RATE_LIMIT_PER_MINUTE', { min: 1, max: 100_000, default: 300 }),
    otlpEndpoint: withoutSlash(v.url('OTEL_EXPORTER_OTLP_ENDPOINT', { protocols: HTTP })),
    otlpHeaders: v.string('OTEL_EXPORTER_OTLP_HEADERS', { pattern: HEADER_LIST, secret: true }),
    traceSampleRatio: Number(v.string('OTEL_TRACES_SAMPLER_ARG', { pattern: RATIO, default: '0.01' })),
    shutdownGraceSeconds: v.integer('SHUTDOWN_GRACE_SECONDS', { min: 1, max: 300, default: graceSeconds }),
    shutdownDelaySeconds: v.integer('SHUTDOWN_DELAY_SECONDS', { min: 0, max: 60, default: isProduction ? 5 : 0 }),
    jwtIssuer: v.string('JWT_ISSUER', { default: 'service-identity' }),
    jwtAudience: v.string('JWT_AUDIENCE', { default: 'service-api' }),
  };
  checkFleetRules(v, config);
  return config;
}

function checkOrigin(origin: string): string | null {
  if (origin.includes('*')) return 'must list origins, wildcards are refused';
  return URL.canParse(origin) && new URL(origin).origin === origin
    ? null
    : 'must list origins like https://app.example';
}

const checkHostAndPort = (address: string): string | null =>
  /^[^\s:/@]+:\d{1,5}$/.test(address) ? null : 'must list servers like redis-1.example:6379';

/** The password of the stores in docker-compose.yml without a .env file. */
const DEVELOPMENT_PASSWORD = 'fleet';

/** Returns whether a NATS address, which may list several servers, names a user and a password. */
const hasLogin = (natsUrl: string): boolean => /^[a-z]+:\/\/[^:@/\s,]+:[^@\s]+@/i.test(natsUrl.trim());

/** Checks the values that production refuses. @see docs/reference/configuration.md */
function checkFleetRules(v: ConfigReader, config: FleetConfig): void {
  if (!config.isProduction) return;
  if (URL.canParse(config.redisUrl ?? '') && new URL(config.redisUrl).password === '') {
    v.problem('REDIS_URL must carry a password in production');
  }
  for (const [name, url = ''] of [
    ['DATABASE_URL', config.databaseUrl],
    ['WORKER_DATABASE_URL', config.workerDatabaseUrl],
    ['DIRECT_WORKER_DATABASE_URL', config.directWorkerDatabaseUrl],
    ['MIGRATIONS_DATABASE_URL', config.migrationsDatabaseUrl],
    ['REDIS_URL', config.redisUrl],
    ['NATS_URL', config.natsUrl],
  ] as const) {
    if (URL.canParse(url) && new URL(url).password === DEVELOPMENT_PASSWORD) {
      v.problem(`${name} must not carry the password of development in production`);
    }
  }
  if (!hasLogin(config.natsUrl ?? '')) v.problem('NATS_URL must carry the login of the service in production');
  if (!config.rateLimitsEnabled) v.problem('RATE_LIMITS_ENABLED must not be false in production');
  if (config.publicApiUrl.startsWith('https:') && !v.has('TRUSTED_PROXY_CIDRS')) {
    v.problem('TRUSTED_PROXY_CIDRS is required in production with an https PUBLIC_API_URL: ranges, or none');
  }
  for (const [name, url] of [
    ['PUBLIC_API_URL', config.publicApiUrl],
    ['PUBLIC_APP_URL', config.publicAppUrl],
  ] as const) {
    if (!v.has(name)) v.problem(`${name} is required in production`);
    else if (config.isHosted && !url.startsWith('https:')) v.problem(`${name} must be https where the fleet is hosted`);
  }
}

/** Reads the address ranges that tenants' URLs may use besides the public internet; refused in production and where hosted. */
export function readOutboundExtraAllowedCidrs(v: ConfigReader, config: FleetConfig): Cidr[] {
  if (v.has('OUTBOUND_EXTRA_ALLOWED_CIDRS') && (config.isProduction || config.isHosted)) {
    v.problem('OUTBOUND_EXTRA_ALLOWED_CIDRS must be empty in production and where the fleet is hosted');
  }
  return v.cidrs('OUTBOUND_EXTRA_ALLOWED_CIDRS');
}

/** Reads the address ranges of the operator that tenants' URLs may not use. */
export const readOutboundBlockedCidrs = (v: ConfigReader): Cidr[] => v.cidrs('OUTBOUND_BLOCKED_CIDRS');
