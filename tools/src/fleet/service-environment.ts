import fs from 'node:fs';
import path from 'node:path';
import { LOCAL_RECEIVERS_FILE, MAILBOX_DIR, ROOT } from '../paths.js';
import type { NatsUser } from '../stores/nats.js';
import type { Stores } from '../stores/stores.js';
import type { FleetDatabase } from './database.js';
import type { FleetSecrets } from './secrets.js';
import { SERVICE_NAMES, type ServiceName } from './services.js';

/** Variables that the launcher sets, and npm's own; none of these is passed on from the shell. */
const RESERVED =
  /^(npm_.*|FLEET_.*|TEST_.*|PORT|BIND_ADDRESS|DATABASE_URL|MIGRATIONS_DATABASE_URL|WORKER_DATABASE_URL|REDIS_URL|NATS_URL|NATS_ADMIN_URL|BOOTSTRAP_ADMIN_EMAIL|BOOTSTRAP_ADMIN_PASSWORD|OUTBOUND_EXTRA_ALLOWED_CIDRS)$/;

export interface EnvironmentContext {
  secrets: FleetSecrets;
  stores: Stores;
  database: FleetDatabase;
  edgePort: number;
  portOf: (service: ServiceName) => number;
}

/** Returns a NATS login for each service, restricted to the subjects of deploy/nats/permissions.json. */
export function natsUsers({ nats }: FleetSecrets): NatsUser[] {
  const file = path.join(ROOT, 'deploy/nats/permissions.json');
  const permissions = JSON.parse(fs.readFileSync(file, 'utf8')) as Record<ServiceName, unknown>;
  return SERVICE_NAMES.map((user) => ({ user, password: nats[user] ?? '', permissions: permissions[user] }));
}

/** Returns the environment of one service. Variables of the shell override the defaults, not the addresses. */
export function environmentOf(service: ServiceName, context: EnvironmentContext): Record<string, string | undefined> {
  const { secrets, stores, database, edgePort } = context;
  const urls = database.urlsOf(service);
  const natsLogin = stores.nats.isPrivate ? { username: service, password: secrets.nats[service] } : {};
  const baseUrl = `http://127.0.0.1:${edgePort}`;
  const appUrl = `http://localhost:${edgePort}`; // a relying party of passkeys must have a name, not an address
  return {
    NODE_ENV: 'development',
    PUBLIC_API_URL: baseUrl,
    PUBLIC_APP_URL: appUrl,
    CORS_ORIGINS: `${appUrl},${baseUrl}`,
    TRUSTED_PROXY_CIDRS: '127.0.0.1/32',
    IS_HOSTED: 'false',
    SECRETS_KEYRING: JSON.stringify({ [secrets.keyId]: secrets.key }),
    SECRETS_ACTIVE_KID: secrets.keyId,
    ...defaultsOf(service, context),
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !RESERVED.test(name))),
    DATABASE_URL: urls.service,
    MIGRATIONS_DATABASE_URL: urls.owner,
    WORKER_DATABASE_URL: urls.worker,
    REDIS_URL: stores.redis.url,
    NATS_URL: String(Object.assign(new URL(stores.nats.url), natsLogin)),
    BIND_ADDRESS: '127.0.0.1',
  };
}

function defaultsOf(service: ServiceName, { secrets, portOf }: EnvironmentContext): Record<string, string> {
  const jwks = { JWKS_URL: `http://127.0.0.1:${portOf('identity')}/api/v1/auth/.well-known/jwks.json` };
  const pepper = { ENROLLMENT_KEY_PEPPER: secrets.enrollmentPepper };
  const isAllowed = fs.existsSync(LOCAL_RECEIVERS_FILE);
  const receivers: Record<string, string> = isAllowed ? { OUTBOUND_EXTRA_ALLOWED_CIDRS: '127.0.0.0/8,::1/128' } : {};
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
