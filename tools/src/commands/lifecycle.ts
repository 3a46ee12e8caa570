import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { FleetError, ignore, say, secondsSinceStart } from '../console.js';
import { type FleetOptions, Launcher } from '../fleet/launcher.js';
import { hasReplacedApps, type ServiceName } from '../fleet/services.js';
import {
  allowLocalReceivers,
  getRunningFleet,
  lockOwner,
  readState,
  type RunningFleet,
  stopOrphans,
} from '../fleet/state.js';
import { ensureDir, FLEET_DIR, LOG_DIR, logFileOf, ROOT } from '../paths.js';
import { identify, isAlive, stopProcess } from '../processes/process-record.js';
import { build, onSignal, poll } from '../processes/run.js';
import { printSummary } from './status.js';

export interface UpOptions extends FleetOptions {
  detach?: boolean;
}

export async function up(options: UpOptions): Promise<number | void> {
  if (isAlive(readState().launcher)) return adjust(getRunningFleet(), options);
  if (options.detach) return startDetached();

  const launcher = new Launcher(options);
  onSignal(() => launcher.close());
  try {
    const summary = await launcher.start();
    if (!process.env['FLEET_DETACHED']) printSummary(summary, secondsSinceStart(), 'Ctrl-C or ./fleet down');
  } catch (error) {
    if (launcher.closing === null) {
      await launcher.close();
      throw error;
    }
  }
  return new Promise(ignore); // the signal handler ends this process
}

/** A second `up` changes only what a running fleet can change: whether webhooks may be sent to this machine. */
async function adjust({ launcher, summary, services }: RunningFleet, options: UpOptions): Promise<void> {
  const found = `The fleet is already running (pid ${launcher.pid})`;
  const different = Object.entries(options.replicas).find(
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
}

/** Starts the launcher in a session of its own, shows its output until the fleet is ready, and leaves it running. */
async function startDetached(): Promise<number> {
  const args = process.argv.slice(2).filter((arg) => !['-d', '--detach'].includes(arg));
  ensureDir(LOG_DIR, 0o700);
  const logFile = logFileOf('fleet');
  const log = fs.openSync(logFile, 'a', 0o600);
  let shown = fs.fstatSync(log).size;
  const child = spawn(process.execPath, [path.join(ROOT, 'tools/fleet.mjs'), ...args], {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, npm_lifecycle_event: '', FLEET_ENDS_WITH_PARENT: '', FLEET_DETACHED: '1' },
  });
  const launcher = { ...identify(child.pid ?? 0), name: 'launcher', signal: 'SIGTERM' } as const;
  onSignal(() => stopProcess(launcher, 60_000));
  const isSettled = () => {
    const state = readState();
    const settled = !isAlive(launcher) || (state.launcher?.pid === launcher.pid && state.phase === 'ready');
    const written = fs.readFileSync(logFile).subarray(shown);
    process.stdout.write(written);
    shown += written.length;
    return settled;
  };
  await poll(isSettled, { timeoutMs: 600_000, everyMs: 100 });
  child.unref();
  if (!isAlive(launcher)) return 1;
  printSummary(getRunningFleet().summary, secondsSinceStart());
  return 0;
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

/** Removes all data of the fleet. Also works when files of the data folder are damaged. */
export function reset({ yes }: { yes?: boolean }): void {
  if (isAlive(unlessDamaged(lockOwner))) throw new FleetError('The fleet is running. Stop it first with: ./fleet down');
  if (!yes) throw new FleetError('This removes all data of the fleet. Confirm with: ./fleet reset --yes');
  const servers = unlessDamaged(readState)?.externalStores ?? [];
  if (servers.length) say(`remove database rmm_fleet, keys rmm:* and streams RMM_* on ${servers.join(', ')} yourself`);
  fs.rmSync(FLEET_DIR, { recursive: true, force: true });
  say('all data of the fleet is removed');
}

function unlessDamaged<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof FleetError) return null;
    throw error;
  }
}
