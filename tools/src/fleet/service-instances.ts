import http from 'node:http';
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
export class ServiceInstance extends SupervisedProcess {
  constructor(
    readonly service: ServiceName,
    name: string,
    readonly port: number,
    supervision: Supervision,
    environmentOf: (service: ServiceName) => NodeJS.ProcessEnv,
  ) {
    super(name, supervision, {
      describe: () => ({
        name,
        command: process.execPath,
        args: [...nodeFlagsOf(service), entryPointOf(service)],
        env: { ...environmentOf(service), PORT: String(port) },
        logFile: logFileOf(name),
      }),
      isReady: () => isReady(port),
    });
  }
}

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
      ports[name] = await getPort({ host: '127.0.0.1', port: wanted });
      instances.push(new ServiceInstance(service, name, ports[name], supervision, environmentOf));
    }
  }
  return instances;
}

export function describeServices(instances: readonly ServiceInstance[]): ServiceStatus[] {
  return SERVICES.map(({ name }) => {
    const own = instances.filter(({ service }) => service === name);
    return summarizeService(
      name,
      own.map(({ state, pid, port }) => ({ state, pid, port })),
    );
  });
}

/** Describes a service by its first instance; the state is the worst of all. */
export function summarizeService(name: string, instances: InstanceStatus[]): ServiceStatus {
  const { pid = null, port = 0 } = instances[0] ?? {};
  return { name, state: instances.find(({ state }) => state !== 'ready')?.state ?? 'ready', pid, port, instances };
}

/** Returns whether a service on this machine reports that it is ready. Never rejects. */
export function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path: '/health/ready', timeout: 2_000, agent: false };
    const request = http.get(options, (response) => resolve(response.resume().statusCode === 200));
    request.once('timeout', () => request.destroy()).once('error', () => resolve(false));
  });
}
