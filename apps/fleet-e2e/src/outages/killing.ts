import { eventually, readFleetStatus, type FleetHandle } from '@rmm/testing';

type Store = FleetHandle['stores'][number]['name'];

/** Sends a signal to a store of the fleet's own. */
export async function signalStore(name: Store, signal: NodeJS.Signals): Promise<void> {
  const { stores } = await readFleetStatus();
  const store = stores.find((each) => each.name === name);
  if (!store) throw new Error(`The fleet has no ${name} of its own`);
  process.kill(store.pid, signal);
}

/** Ends one process of a service without warning. */
export async function killService(name: string, index = 0): Promise<void> {
  const { services } = await readFleetStatus();
  const pid = services.find((service) => service.name === name)?.instances[index]?.pid;
  if (!pid) throw new Error(`The fleet has no ${name}`);
  process.kill(pid, 'SIGKILL');
}

/** Waits until every service says that it is ready again. */
export const untilReady = (): Promise<void> =>
  eventually(
    async () => {
      const { state } = (await readFleetStatus()) as FleetHandle & { state: string };
      if (state !== 'ready') throw new Error(`the fleet is ${state}`);
    },
    { timeoutMs: 60_000 },
  );
