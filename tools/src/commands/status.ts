import { spawnSync } from 'node:child_process';
import { bold, dim, FleetError, green, red } from '../console.js';
import { describeServices, type InstanceStatus, isReady, SERVICE_NAMES } from '../fleet/services.js';
import { type FleetState, type FleetSummary, readState } from '../fleet/state.js';
import { logFileOf, logNames } from '../paths.js';
import { isAlive } from '../processes/process-record.js';

/** Prints what runs and where. @returns 0 when every service is ready, else 3 */
export async function status({ json }: { json?: boolean }): Promise<number> {
  const state = readState();
  const isRunning = isAlive(state.launcher);
  // An instance that runs but has lost a dependency reports that itself.
  const ask = async <T extends InstanceStatus>(instance: T): Promise<T> =>
    instance.state === 'ready' && !(await isReady(instance.port)) ? { ...instance, state: 'not-ready' } : instance;
  const known = isRunning ? state.services : [];
  const instances = known.flatMap(({ name: service, instances }) => instances.map((one) => ({ ...one, service })));
  const services = describeServices(await Promise.all(instances.map(ask)));
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

function textOf({ services, summary }: FleetState, phase: string): string {
  const lines = services.flatMap(({ name, instances }) =>
    instances.map(({ state, pid, port }, i) => {
      const light = state === 'ready' ? green('●') : red('●');
      return `  ${light} ${(i ? '' : name).padEnd(20)} ${state.padEnd(10)} ${dim(`pid ${pid}  port ${port}`)}`;
    }),
  );
  return [`The fleet is ${bold(phase)}`, ...lines, ...(summary ? ['', ...describeAccess(summary)] : [])].join('\n');
}

export function logs(service: string | undefined, { follow, lines }: { follow?: boolean; lines: number }): number {
  const all = logNames();
  const wanted: readonly string[] = service ? [service] : SERVICE_NAMES;
  const names = all.filter((name) => wanted.includes(name) || wanted.includes(name.replace(/-\d+$/, '')));
  if (!all.length) throw new FleetError('There are no logs yet.');
  if (!names.length) throw new FleetError(`There is no log "${service}". Logs: ${all.join(', ')}`);
  const args = ['-n', String(lines), ...(follow ? ['-F'] : []), ...names.map(logFileOf)];
  return spawnSync('tail', args, { stdio: 'inherit' }).status ?? 0;
}

/** Prints the addresses of a fleet that is ready. */
export function printSummary(summary: FleetSummary, seconds: string, stop = './fleet down'): void {
  console.log(`\n  ${green('●')} ${bold(`The fleet is ready${seconds && ` (${seconds} s)`}`)}\n`);
  console.log([...describeAccess(summary), row('stop', `${stop}\n`)].join('\n'));
}

const row = (label: string, value: string): string => `    ${dim(label.padEnd(12))} ${value}`;

const describeAccess = (summary: FleetSummary): string[] => [
  row('API', bold(summary.baseUrl)),
  row('docs', summary.docsUrl),
  row('accounts', summary.accountUrl),
  row('mailbox', summary.mailboxUrl),
  row('admin', `${summary.admin.email}   ${summary.admin.password}`),
  ...(summary.localReceivers ? [row('receivers', 'webhooks may be sent to this machine (--local-receivers)')] : []),
  row('logs', `./fleet logs <service>   ${dim(summary.logs)}`),
];
