import { MAILBOX_DIR } from './layout.mjs';
import { serviceNames } from './services.mjs';

/** What the launcher decides itself, and npm's own; nothing of these is passed on from the shell. */
const RESERVED =
  /^(npm_.*|FLEET_.*|TEST_.*|PORT|DATABASE_URL|MIGRATIONS_DATABASE_URL|WORKER_DATABASE_URL|REDIS_URL|NATS_URL|NATS_ADMIN_URL|BOOTSTRAP_ADMIN_EMAIL|BOOTSTRAP_ADMIN_PASSWORD|OUTBOUND_EXTRA_ALLOWED_CIDRS)$/;
const LOOPBACK = '127.0.0.0/8,::1/128';

/**
 * The environment of one service.
 * @param {{ secrets: object, database: object, redisUrl: string, natsUrlOf: (service: string) => string, baseUrl: string,
 *   edgePort: number, portOf: (service: string) => number, localReceivers: boolean }} fleet
 */
export function environmentOf(service, fleet) {
  const { owner, service: login, worker } = fleet.database.urls[service];
  return {
    ...defaultsForAll(fleet),
    ...defaultsFor(service, fleet),
    ...fromShell(),
    DATABASE_URL: login,
    MIGRATIONS_DATABASE_URL: owner,
    WORKER_DATABASE_URL: worker,
    REDIS_URL: fleet.redisUrl,
    NATS_URL: fleet.natsUrlOf(service),
  };
}

function defaultsForAll({ secrets, baseUrl, edgePort }) {
  const app = `http://localhost:${edgePort}`; // passkeys need a name; an address cannot be their relying party
  return {
    NODE_ENV: 'development',
    PUBLIC_API_URL: baseUrl,
    PUBLIC_APP_URL: app,
    CORS_ORIGINS: `${app},${baseUrl}`,
    TRUSTED_PROXY_CIDRS: '127.0.0.1/32',
    IS_HOSTED: 'false',
    SECRETS_KEYRING: JSON.stringify({ [secrets.keyId]: secrets.key }),
    SECRETS_ACTIVE_KID: secrets.keyId,
  };
}

function defaultsFor(service, { secrets, portOf, localReceivers }) {
  const jwks = { JWKS_URL: `http://127.0.0.1:${portOf('identity')}/api/v1/auth/.well-known/jwks.json` };
  const pepper = { ENROLLMENT_KEY_PEPPER: secrets.enrollmentPepper };
  const receivers = localReceivers ? { OUTBOUND_EXTRA_ALLOWED_CIDRS: LOOPBACK } : {};
  switch (service) {
    case 'identity':
      return {
        ...receivers,
        ENABLE_REGISTRATION: 'true',
        BOOTSTRAP_ADMIN_EMAIL: secrets.adminEmail,
        BOOTSTRAP_ADMIN_PASSWORD: secrets.adminPassword,
        MFA_RECOVERY_CODE_PEPPER: secrets.recoveryCodePepper,
        MAILBOX_DIR,
      };
    case 'credentials':
      return { ...jwks, ...pepper };
    case 'partner-gateway':
      return { PARTNER_API_CURSOR_SIGNING_KEY: secrets.cursorKey, OPENAPI_SOURCES: openApiSources(portOf) };
    case 'provisioning':
      return { ...jwks, ...pepper, ...receivers };
    case 'webhook-dispatcher':
      return { ...jwks, ...receivers };
    default:
      return {};
  }
}

/** Where the documents are that the gateway merges into one. */
const openApiSources = (portOf) =>
  serviceNames.map((name) => `${name}=http://127.0.0.1:${portOf(name)}/openapi.json`).join(',');

/** What the person set in the shell reaches every service: `DEVICE_OFFLINE_AFTER_SECONDS=60 ./fleet up`. */
function fromShell() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !RESERVED.test(name)));
}
