import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { FleetError } from '../console.js';
import { FLEET_DIR, MAILBOX_DIR, readJson, RESTORE, ROOT, SECRETS_FILE, writeAtomically } from '../paths.js';
import { majorOfData, type Store } from '../stores/store.js';
import type { Stores } from '../stores/stores.js';
import type { FleetDatabase } from './database.js';
import { SERVICE_NAMES, type ServiceName, SERVICES } from './services.js';
import { areLocalReceiversAllowed, type FleetState } from './state.js';

/** Variables that the launcher sets, and npm's own; none of these is passed on from the shell. */
const RESERVED =
  /^((npm|FLEET|TEST)_.*|PORT|BIND_ADDRESS|((MIGRATIONS_|(DIRECT_)?WORKER_)?DATABASE|REDIS|NATS(_ADMIN)?)_URL|BOOTSTRAP_ADMIN_(EMAIL|PASSWORD)|OUTBOUND_EXTRA_ALLOWED_CIDRS)$/;

export type FleetSecrets = ReturnType<typeof createSecrets>;

export interface EnvironmentContext {
  secrets: FleetSecrets;
  stores: Stores;
  database: FleetDatabase;
  /** PgBouncer, which the services go through. */
  pooler?: Store | null;
  portOf: (server: ServiceName | 'edge') => number;
}

/** Returns the secrets of this fleet, created at its first start. @throws FleetError when damaged, or lost while data is sealed with them */
export function loadSecrets({ externalStores }: FleetState): FleetSecrets {
  const created = createSecrets();
  const kept = readJson<FleetSecrets>(SECRETS_FILE, created);
  if (kept) return kept;
  const data = majorOfData(FLEET_DIR) ? FLEET_DIR : externalStores.join(', ');
  if (data) throw new FleetError(`${SECRETS_FILE} is missing, but data in ${data} is sealed with it. ${RESTORE}`);
  writeAtomically(SECRETS_FILE, JSON.stringify(created, null, 2));
  return created;
}

/** Passwords of the database are by `<schema>.<owner|service|worker>`, those of NATS by service. */
function createSecrets() {
  const token = (bytes = 18) => randomBytes(bytes).toString('base64url');
  const logins = SERVICES.flatMap(({ schema }) => ['owner', 'service', 'worker'].map((role) => `${schema}.${role}`));
  return {
    adminEmail: process.env['BOOTSTRAP_ADMIN_EMAIL'] || 'admin@fleet.test',
    adminPassword: process.env['BOOTSTRAP_ADMIN_PASSWORD'] || `${token(12)}-Aa1`,
    keyId: 'dev-1',
    key: randomBytes(32).toString('base64'),
    enrollmentPepper: token(32),
    recoveryCodePepper: token(32),
    cursorKey: token(32),
    database: Object.fromEntries(logins.map((login) => [login, token()])),
    nats: Object.fromEntries<string>(SERVICES.map(({ name }) => [name, token()])),
  };
}

/** Returns a NATS login for each service, restricted to the subjects of deploy/nats/permissions.json. */
export function natsUsers({ nats }: FleetSecrets): object[] {
  const permissions = readJson<Record<ServiceName, unknown>>(path.join(ROOT, 'deploy/nats/permissions.json'));
  return SERVICE_NAMES.map((user) => ({ user, password: nats[user] ?? '', permissions: permissions?.[user] }));
}

/** Returns the environment of one service. Variables of the shell override the defaults, not the addresses. */
export function environmentOf(service: ServiceName, context: EnvironmentContext): Record<string, string | undefined> {
  const { secrets, stores, database, pooler, portOf } = context;
  const urls = database.urlsOf(service);
  const pooled = (url: string) => (pooler ? through(pooler, url) : url);
  const natsLogin = stores.nats.isPrivate ? { username: service, password: secrets.nats[service] } : {};
  // Browsers use one name for API and pages: their cookies belong to it, and passkeys need a name instead of an address.
  const publicUrl = `http://localhost:${portOf('edge')}`;
  return {
    NODE_ENV: 'development',
    PUBLIC_API_URL: publicUrl,
    PUBLIC_APP_URL: `${publicUrl}/account`,
    CORS_ORIGINS: `${publicUrl},http://127.0.0.1:${portOf('edge')}`,
    TRUSTED_PROXY_CIDRS: '127.0.0.1/32',
    IS_HOSTED: 'false',
    SECRETS_KEYRING: JSON.stringify({ [secrets.keyId]: secrets.key }),
    SECRETS_ACTIVE_KID: secrets.keyId,
    ...defaultsOf(service, context),
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !RESERVED.test(name))),
    DATABASE_URL: pooled(urls.service),
    MIGRATIONS_DATABASE_URL: urls.owner,
    WORKER_DATABASE_URL: pooled(urls.worker),
    ...(pooler && { DIRECT_WORKER_DATABASE_URL: urls.worker }),
    REDIS_URL: stores.redis.url,
    ...(stores.redis.isPrivate && { REDIS_CLUSTER_NODES: stores.redis.otherHosts?.join() }),
    NATS_URL: [Object.assign(new URL(stores.nats.url), natsLogin), ...(stores.nats.otherHosts ?? [])].join(),
    BIND_ADDRESS: '127.0.0.1',
  };
}

/** Returns the address of the same database and login by way of the pooler. */
const through = (pooler: Store, url: string): string =>
  String(Object.assign(new URL(url), { host: new URL(pooler.url).host }));

function defaultsOf(service: ServiceName, { secrets, portOf }: EnvironmentContext): Record<string, string> {
  const jwks = { JWKS_URL: `http://127.0.0.1:${portOf('identity')}/api/v1/auth/.well-known/jwks.json` };
  const pepper = { ENROLLMENT_KEY_PEPPER: secrets.enrollmentPepper };
  const receivers: Record<string, string> = areLocalReceiversAllowed()
    ? { OUTBOUND_EXTRA_ALLOWED_CIDRS: '127.0.0.0/8,::1/128' }
    : {};
  const openApi = SERVICE_NAMES.map((name) => `${name}=http://127.0.0.1:${portOf(name)}/openapi.json`).join(',');
  const defaults: Record<ServiceName, Record<string, string>> = {
    identity: {
      ...receivers,
      ENABLE_REGISTRATION: 'true',
      BOOTSTRAP_ADMIN_EMAIL: secrets.adminEmail,
      BOOTSTRAP_ADMIN_PASSWORD: secrets.adminPassword,
      MFA_RECOVERY_CODE_PEPPER: secrets.recoveryCodePepper,
      MAILBOX_DIR,
    },
    credentials: { ...jwks, ...pepper },
    'partner-gateway': { PARTNER_API_CURSOR_SIGNING_KEY: secrets.cursorKey, OPENAPI_SOURCES: openApi },
    provisioning: { ...jwks, ...pepper, ...receivers },
    'webhook-dispatcher': { ...jwks, ...receivers },
  };
  return defaults[service];
}
