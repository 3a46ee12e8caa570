import { eventually, readFleetStatus, type FleetHandle } from '@rmm/testing';

type Store = FleetHandle['stores'][number]['name'];

/** Sends a signal to a private store of the fleet. */
export async function signalStore(name: Store, signal: NodeJS.Signals): Promise<void> {
  const { stores } = await readFleetStatus();
  const store = stores.find((each) => each.name === name);
  if (!store) throw new Error(`The fleet has no ${name} of its own`);
  process.kill(store.pid, signal);
}

/** Kills one process of a service. */
export async function killService(name: string, index = 0): Promise<void> {
  const { services } = await readFleetStatus();
  const pid = services.find((service) => service.name === name)?.instances[index]?.pid;
  if (!pid) throw new Error(`The fleet has no ${name}`);
  process.kill(pid, 'SIGKILL');
}

/** Waits until every service is ready again. */
export const untilReady = (): Promise<void> =>
  eventually(
    async () => {
      const { state } = (await readFleetStatus()) as FleetHandle & { state: string };
      if (state !== 'ready') throw new Error(`the fleet is ${state}`);
    },
    { timeoutMs: 60_000 },
  );
