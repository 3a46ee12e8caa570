import { bold, dim, green, red } from '../console.js';
import { type InstanceStatus, isReady, summarizeService } from '../fleet/service-instances.js';
import { type FleetState, readState } from '../fleet/state.js';
import { isAlive } from '../processes/process-record.js';

/** Prints what runs and where. @returns 0 when every service is ready, else 3 */
export async function status({ json }: { json?: boolean }): Promise<number> {
  const state = readState();
  const isRunning = isAlive(state.launcher);
  const services = await Promise.all(
    (isRunning ? state.services : []).map(async ({ name, instances }) =>
      summarizeService(name, await Promise.all(instances.map(withReadiness))),
    ),
  );
  const isReadyFleet = state.phase === 'ready' && services.every((service) => service.state === 'ready');
  const phase = state.phase === 'ready' && !isReadyFleet ? 'degraded' : state.phase;
  const stores = state.records.filter(({ name }) => name.startsWith('store:'));
  const report = isRunning && {
    state: phase,
    pid: state.launcher?.pid,
    ...state.summary,
    stores: stores.map(({ name, pid }) => ({ name: name.slice('store:'.length), pid })),
    services,
  };
  if (json) console.log(JSON.stringify(report || { state: 'stopped', services: [] }, null, 2));
  else if (report) console.log(textOf({ ...state, services }, phase));
  else if (state.records.some(isAlive)) console.log('A killed launcher left processes. Stop them with: ./fleet down');
  else console.log('The fleet is not running. Start it with: ./fleet up');
  return report && isReadyFleet ? 0 : 3;
}

/** Asks an instance: one that runs but has lost a dependency reports that itself. */
async function withReadiness(instance: InstanceStatus): Promise<InstanceStatus> {
  const isUnready = instance.state === 'ready' && !(await isReady(instance.port));
  return isUnready ? { ...instance, state: 'not-ready' } : instance;
}

function textOf({ services, summary }: FleetState, phase: string): string {
  const lines = services.flatMap(({ name, instances }) =>
    instances.map(({ state, pid, port }, i) => {
      const light = state === 'ready' ? green('●') : red('●');
      return `  ${light} ${(i ? '' : name).padEnd(20)} ${state.padEnd(10)} ${dim(`pid ${pid}  port ${port}`)}`;
    }),
  );
  if (summary) {
    const { baseUrl, docsUrl, mailboxUrl, admin } = summary;
    lines.push('', `  API ${bold(baseUrl)}   docs ${docsUrl}   mailbox ${mailboxUrl}`);
    lines.push(`  admin ${admin.email}   ${admin.password}`);
  }
  return [`The fleet is ${bold(phase)}`, ...lines].join('\n');
}
