import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline/promises';
import { bold, dim, FleetError, green, ignore, red, say, secondsSinceStart } from '../console.js';
import { allowLocalReceivers, Launcher } from '../fleet/launcher.js';
import {
  describeServices,
  hasReplacedApps,
  type InstanceStatus,
  isReady,
  SERVICE_NAMES,
  type ServiceName,
} from '../fleet/services.js';
import {
  type FleetState,
  type FleetSummary,
  getRunningFleet,
  lockOwner,
  readState,
  type RunningFleet,
  stopOrphans,
} from '../fleet/state.js';
import { ensureDir, FLEET_DIR, LAUNCHER_LOG, LOG_DIR, logFileOf, logNames, ROOT } from '../paths.js';
import { isAlive, type ProcessRecord, startTimeOf, stopProcess } from '../processes/process-record.js';
import { build, onSignal, poll } from '../processes/run.js';

export interface UpOptions {
  detach?: boolean;
  localReceivers?: boolean;
  replicas?: Record<string, number>;
}

export async function up(options: UpOptions): Promise<number> {
  if (isAlive(readState().launcher)) return adjust(getRunningFleet(), options);
  if (options.detach) return startDetached(options);

  const launcher = new Launcher({ replicas: options.replicas ?? {}, localReceivers: options.localReceivers ?? false });
  onSignal(() => {
    say('stopping');
    return launcher.close();
  });
  try {
    const summary = await launcher.start();
    if (!process.env['FLEET_DETACHED']) printSummary(summary, secondsSinceStart(), 'Ctrl-C or ./fleet down');
  } catch (error) {
    if (!launcher.isClosing) {
      await launcher.close();
      throw error;
    }
  }
  return new Promise(ignore); // the signal handler ends this process
}

/** A second `up` changes only what a running fleet can change: whether webhooks may be sent to this machine. */
async function adjust({ launcher, summary, services }: RunningFleet, options: UpOptions): Promise<number> {
  const found = `The fleet is already running (pid ${launcher.pid})`;
  const different = Object.entries(options.replicas ?? {}).find(
    ([service, count]) => services.find(({ name }) => name === service)?.instances.length !== count,
  );
  if (different) throw new FleetError(`${found} without --replicas ${different.join('=')}. Stop it with: ./fleet down`);
  if (options.localReceivers && !summary.localReceivers) {
    say('allowing webhooks to this machine: restarting three services');
    allowLocalReceivers(true);
    await Promise.all((['identity', 'provisioning', 'webhook-dispatcher'] as const).map(restartService));
  }
  console.log(`${found}.`);
  printSummary(getRunningFleet().summary, '');
  return 0;
}

/** Starts the launcher in a session of its own, shows its output until the fleet is ready, and leaves it running. */
async function startDetached({ localReceivers, replicas }: UpOptions): Promise<number> {
  const counts = Object.entries(replicas ?? {}).map(([service, count]) => `--replicas=${service}=${count}`);
  const args = ['up', ...(localReceivers ? ['--local-receivers'] : []), ...counts];
  ensureDir(LOG_DIR, 0o700);
  const log = fs.openSync(LAUNCHER_LOG, 'a+', 0o600);
  let shown = fs.fstatSync(log).size;
  const child = spawn(process.execPath, [path.join(ROOT, 'tools/fleet.mjs'), ...args], {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, npm_lifecycle_event: '', FLEET_ENDS_WITH_PARENT: '', FLEET_DETACHED: '1' },
  });
  const pid = child.pid ?? 0;
  const launcher: ProcessRecord = { name: 'launcher', pid, start: startTimeOf(pid) ?? '', signal: 'SIGTERM' };
  onSignal(() => stopProcess(launcher, 60_000));
  const buffer = Buffer.alloc(64 * 1024);
  const isSettled = () => {
    const state = readState();
    const settled = !isAlive(launcher) || (state.launcher?.pid === pid && state.phase === 'ready');
    for (let length; (length = fs.readSync(log, buffer, 0, buffer.length, shown)); shown += length) {
      process.stdout.write(buffer.subarray(0, length));
    }
    return settled;
  };
  await poll(isSettled, { timeoutMs: 600_000, everyMs: 50 });
  child.unref();
  if (!isAlive(launcher)) return 1;
  printSummary(getRunningFleet().summary, secondsSinceStart());
  return 0;
}

function printSummary(summary: FleetSummary, seconds: string, stop = './fleet down'): void {
  console.log(`\n  ${green('●')} ${bold(`The fleet is ready${seconds && ` (${seconds} s)`}`)}\n`);
  console.log([...describeAccess(summary), row('stop', `${stop}\n`)].join('\n'));
}

const row = (label: string, value: string): string => `    ${dim(label.padEnd(12))} ${value}`;

function describeAccess({ baseUrl, docsUrl, mailboxUrl, admin, localReceivers, logs }: FleetSummary): string[] {
  return [
    row('API', bold(baseUrl)),
    row('docs', docsUrl),
    row('mailbox', mailboxUrl),
    row('admin', `${admin.email}   ${admin.password}`),
    ...(localReceivers ? [row('receivers', 'webhooks may be sent to this machine (--local-receivers)')] : []),
    row('logs', `./fleet logs <service>   ${dim(logs)}`),
  ];
}

/** Stops the fleet of this data folder, and the processes of a launcher that was killed. */
export async function down(): Promise<void> {
  const owner = lockOwner();
  const wasRunning = isAlive(owner);
  if (owner && wasRunning) {
    say('stopping');
    await stopProcess({ ...owner, name: 'launcher', signal: 'SIGTERM' }, 60_000);
  }
  const hadOrphans = await stopOrphans();
  say(wasRunning || hadOrphans ? 'stopped' : 'the fleet is not running');
}

export async function restart(service: ServiceName): Promise<void> {
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
    const isRestarted = () => instancesOf().some((now, j) => j === i && now.pid !== pid && now.state === 'ready');
    const hasStarted = await poll(isRestarted, { timeoutMs: 120_000, everyMs: 100 });
    if (!hasStarted) throw new FleetError(`${service} did not start. See: ./fleet logs ${service}`);
  }
}

/** Removes all data of the fleet, after a question. Also works when files of the data folder are damaged. */
export async function reset({ yes }: { yes?: boolean }): Promise<number> {
  if (isAlive(unlessDamaged(lockOwner))) throw new FleetError('The fleet is running. Stop it first with: ./fleet down');
  if (!yes && !(await isConfirmed())) return 1;
  const servers = unlessDamaged(readState)?.externalStores ?? [];
  if (servers.length) say(`remove database rmm_fleet, keys rmm:* and streams RMM_* on ${servers.join(', ')} yourself`);
  fs.rmSync(FLEET_DIR, { recursive: true, force: true });
  say('all data of the fleet is removed');
  return 0;
}

function unlessDamaged<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof FleetError) return null;
    throw error;
  }
}

async function isConfirmed(): Promise<boolean> {
  const { stdin: input, stdout: output } = process;
  if (!input.isTTY) throw new FleetError('This removes all data of the fleet. Confirm with: ./fleet reset --yes');
  const reply = await readline.createInterface({ input, output }).question('Remove all data of the fleet? [y/N] ');
  input.destroy();
  return /^y(es)?$/i.test(reply.trim());
}

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
