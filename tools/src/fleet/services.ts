import getPort from 'get-port';
import path from 'node:path';
import { logFileOf, ROOT } from '../paths.js';
import { type ProcessState, SupervisedProcess, type Supervision } from '../processes/supervised-process.js';

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

/** Limits memory. Deliveries and pages of exports create up to 50 MB of short-lived objects a second. */
export const NODE_FLAGS = ['--max-semi-space-size=16', '--max-old-space-size=768'];

/** The folder that contains `<service>/dist/main.js`. The launcher's checks set FLEET_APPS_DIR. */
const APPS_DIR = path.resolve(process.env['FLEET_APPS_DIR'] || path.join(ROOT, 'apps'));
export const entryPointOf = (service: ServiceName): string => path.join(APPS_DIR, service, 'dist/main.js');
export const hasReplacedApps = APPS_DIR !== path.join(ROOT, 'apps');

export interface InstanceStatus {
  state: ProcessState | 'not-ready';
  pid: number | null;
  port: number;
}

export interface ServiceStatus extends InstanceStatus {
  name: ServiceName;
  instances: InstanceStatus[];
}

/** One process of a service: `provisioning`, `provisioning-2`. */
export type ServiceInstance = SupervisedProcess & { service: ServiceName; port: number };

/** Creates the instances with their ports: the services need each other's addresses before they start. */
export async function createInstances(
  supervision: Supervision,
  replicas: Record<string, number>,
  ports: Partial<Record<string, number>>,
  environmentOf: (service: ServiceName) => NodeJS.ProcessEnv,
): Promise<ServiceInstance[]> {
  const instances: ServiceInstance[] = [];
  for (const { name: service, port: preferred } of SERVICES) {
    for (let number = 1; number <= (replicas[service] ?? 1); number++) {
      const name = number === 1 ? service : `${service}-${number}`;
      const wanted = ports[name] ?? (number === 1 ? preferred : 0);
      const port = (ports[name] = await getPort({ host: '127.0.0.1', port: wanted }));
      const args = [...NODE_FLAGS, entryPointOf(service)];
      const spec = { command: process.execPath, args, logFile: logFileOf(name) };
      const describe = () => ({ ...spec, env: { ...environmentOf(service), PORT: String(port) } });
      const instance = new SupervisedProcess(name, supervision, describe, () => isReady(port));
      instances.push(Object.assign(instance, { service, port }));
    }
  }
  return instances;
}

/** Describes each service by its first instance; its state is the worst of all. */
export function describeServices(all: readonly (InstanceStatus & { service: ServiceName })[]): ServiceStatus[] {
  return SERVICE_NAMES.map((name) => {
    const own = all.filter(({ service }) => service === name);
    const instances = own.map(({ state, pid, port }) => ({ state, pid, port }));
    const { pid = null, port = 0 } = instances[0] ?? {};
    return { name, state: instances.find(({ state }) => state !== 'ready')?.state ?? 'ready', pid, port, instances };
  });
}

export const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok, body }) => (void body?.cancel(), ok),
    () => false,
  );
