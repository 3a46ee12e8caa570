import { say } from '../console.js';
import { FleetError } from '../errors.js';
import { assertServiceName, hasReplacedApps, type ServiceName } from '../fleet/services.js';
import { getRunningFleet } from '../fleet/state.js';
import { build, poll } from '../processes/run.js';

/** Compiles what changed and restarts a service, replica by replica. */
export async function restart(service: string): Promise<void> {
  assertServiceName(service);
  getRunningFleet();
  if (!hasReplacedApps) await build();
  say(`restarting ${service}`);
  await restartService(service);
  say(`${service} is ready`);
}

/** Stops one instance after the other; the launcher starts each again. @throws FleetError when one does not start */
export async function restartService(service: ServiceName): Promise<void> {
  const instancesOf = () => getRunningFleet().services.find(({ name }) => name === service)?.instances ?? [];
  for (const [i, { pid }] of instancesOf().entries()) {
    if (pid) process.kill(pid, 'SIGTERM');
    const isRestarted = () => {
      const now = instancesOf()[i];
      return now?.pid !== pid && now?.state === 'ready';
    };
    if (!(await poll(isRestarted, { timeoutMs: 120_000, everyMs: 100 }))) {
      throw new FleetError(`${service} did not start. See: ./fleet logs ${service}`);
    }
  }
}
