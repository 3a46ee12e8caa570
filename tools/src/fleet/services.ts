import path from 'node:path';
import { FleetError } from '../console.js';
import { ROOT } from '../paths.js';

/** The services. `port` is the preferred one; `schema` names the part of the database and its logins. */
export const SERVICES = [
  { name: 'identity', port: 4001, schema: 'identity' },
  { name: 'credentials', port: 4002, schema: 'credentials' },
  { name: 'partner-gateway', port: 4003, schema: 'partner_gateway' },
  { name: 'provisioning', port: 4004, schema: 'provisioning' },
  { name: 'webhook-dispatcher', port: 4005, schema: 'webhook_dispatcher' },
] as const;

export type ServiceName = (typeof SERVICES)[number]['name'];

export const SERVICE_NAMES: readonly ServiceName[] = SERVICES.map(({ name }) => name);

/** @throws FleetError that lists the services */
export function assertServiceName(name: string): asserts name is ServiceName {
  if ((SERVICE_NAMES as readonly string[]).includes(name)) return;
  throw new FleetError(`There is no service "${name}". Services: ${SERVICE_NAMES.join(', ')}`);
}

/**
 * Returns Node's memory options for a service: five services fit on a small machine. The dispatcher has a larger young
 * space because it creates about 50 MB of short-lived objects a second at full speed.
 */
export const nodeFlagsOf = (service: ServiceName): string[] => [
  `--max-semi-space-size=${service === 'webhook-dispatcher' ? 16 : 8}`,
  '--max-old-space-size=768',
];

/** The folder that contains `<service>/dist/main.js`. The launcher's checks set FLEET_APPS_DIR. */
const APPS_DIR = path.resolve(process.env['FLEET_APPS_DIR'] || path.join(ROOT, 'apps'));
export const entryPointOf = (service: ServiceName): string => path.join(APPS_DIR, service, 'dist/main.js');
export const hasReplacedApps = APPS_DIR !== path.join(ROOT, 'apps');
