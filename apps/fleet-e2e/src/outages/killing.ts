import { eventually, readFleetStatus, type FleetHandle } from '@rmm/testing';

export type Store = FleetHandle['stores'][number]['name'];

/**
 * Sends a signal to a private store of the fleet. One that is killed is started again at the same address.
 * @param env  names the fleet
 */
export async function signalStore(name: Store, signal: NodeJS.Signals, env = process.env): Promise<void> {
  const { stores } = await readFleetStatus(env);
  const store = stores.find((each) => each.name === name);
  if (!store) throw new Error(`The fleet has no ${name} of its own`);
  process.kill(store.pid, signal);
}

/** Returns the process that runs now as a replica of a service. */
export async function findReplica(name: string, index = 0): Promise<{ pid: number; port: number }> {
  const { services } = await readFleetStatus();
  const replica = services.find((service) => service.name === name)?.instances[index];
  if (!replica?.pid) throw new Error(`The fleet has no ${name}`);
  return replica;
}

/** Kills one process of a service. */
export async function killService(name: string, index = 0): Promise<void> {
  process.kill((await findReplica(name, index)).pid, 'SIGKILL');
}

/** Waits until every service is ready again. Each look at the status is a process, which costs the fleet CPU time. */
export const untilReady = (): Promise<void> =>
  eventually(
    async () => {
      const { state } = (await readFleetStatus()) as FleetHandle & { state: string };
      if (state !== 'ready') throw new Error(`the fleet is ${state}`);
    },
    { timeoutMs: 180_000, everyMs: 1_000 },
  );
