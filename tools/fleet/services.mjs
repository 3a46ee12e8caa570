import path from 'node:path';
import { ROOT } from '../paths.mjs';

/**
 * The services, in the order they are listed. `port` is the one each has by default; it is taken when it is free.
 * `schema` names its part of the database and its three logins.
 */
export const SERVICES = [
  { name: 'identity', port: 4001, schema: 'identity' },
  { name: 'credentials', port: 4002, schema: 'credentials' },
  { name: 'partner-gateway', port: 4003, schema: 'partner_gateway' },
  { name: 'provisioning', port: 4004, schema: 'provisioning' },
  { name: 'webhook-dispatcher', port: 4005, schema: 'webhook_dispatcher' },
];

/** A cap that five services on a small machine can afford. */
const OLD_SPACE = '--max-old-space-size=768';
/** MB of young space: small, but for the sender, which at full speed makes 50 MB of short-lived objects a second. */
const YOUNG_SPACE = { 'webhook-dispatcher': 16 };
export const nodeFlagsOf = (name) => [`--max-semi-space-size=${YOUNG_SPACE[name] ?? 8}`, OLD_SPACE];

export const serviceNames = SERVICES.map((service) => service.name);

/** The folder that holds `<service>/dist/main.js`. FLEET_APPS_DIR is for the checks of the launcher itself. */
const APPS_DIR = path.resolve(process.env.FLEET_APPS_DIR || path.join(ROOT, 'apps'));
export const mainOf = (name) => path.join(APPS_DIR, name, 'dist/main.js');
export const usesOwnApps = APPS_DIR !== path.join(ROOT, 'apps');
