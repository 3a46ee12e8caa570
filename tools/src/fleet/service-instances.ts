import getPort from 'get-port';
import { logFileOf } from '../paths.js';
import { type ProcessState, SupervisedProcess, type Supervision } from '../processes/supervised-process.js';
import { entryPointOf, nodeFlagsOf, SERVICES, type ServiceName } from './services.js';

export interface InstanceStatus {
  state: ProcessState | 'not-ready';
  pid: number | null;
  port: number;
}

export interface ServiceStatus extends InstanceStatus {
  name: string;
  instances: InstanceStatus[];
}

/** One process of a service: `provisioning`, `provisioning-2`. */
export type ServiceInstance = SupervisedProcess & { service: ServiceName; port: number };

/** Creates the instances with their ports: the services need each other's addresses before they start. */
export async function createInstances(
  supervision: Supervision,
  replicas: Partial<Record<string, number>>,
  ports: Partial<Record<string, number>>,
  environmentOf: (service: ServiceName) => NodeJS.ProcessEnv,
): Promise<ServiceInstance[]> {
  const instances: ServiceInstance[] = [];
  for (const { name: service, port: preferred } of SERVICES) {
    for (let number = 1; number <= (replicas[service] ?? 1); number++) {
      const name = number === 1 ? service : `${service}-${number}`;
      const wanted = ports[name] ?? (number === 1 ? preferred : 0);
      const port = (ports[name] = await getPort({ host: '127.0.0.1', port: wanted }));
      const args = [...nodeFlagsOf(service), entryPointOf(service)];
      const spec = { command: process.execPath, args, logFile: logFileOf(name) };
      const describe = () => ({ ...spec, env: { ...environmentOf(service), PORT: String(port) } });
      const instance = new SupervisedProcess(name, supervision, describe, () => isReady(port));
      instances.push(Object.assign(instance, { service, port }));
    }
  }
  return instances;
}

export function describeServices(instances: readonly ServiceInstance[]): ServiceStatus[] {
  return SERVICES.map(({ name }) => {
    const own = instances.filter(({ service }) => service === name);
    const statuses = own.map(({ state, pid, port }) => ({ state, pid, port }));
    return summarizeService(name, statuses);
  });
}

/** Describes a service by its first instance; the state is the worst of all. */
export function summarizeService(name: string, instances: InstanceStatus[]): ServiceStatus {
  const { pid = null, port = 0 } = instances[0] ?? {};
  return { name, state: instances.find(({ state }) => state !== 'ready')?.state ?? 'ready', pid, port, instances };
}

/** Returns whether a service on this machine reports that it is ready. Never rejects. */
export const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok, body }) => (void body?.cancel(), ok),
    () => false,
  );
