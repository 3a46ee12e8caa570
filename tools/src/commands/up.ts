import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { bold, dim, FleetError, green, ignore, say, secondsSinceStart } from '../console.js';
import { allowLocalReceivers, Launcher } from '../fleet/launcher.js';
import { type FleetSummary, getRunningFleet, readState, type RunningFleet } from '../fleet/state.js';
import { ensureDir, LAUNCHER_LOG, LOG_DIR, ROOT } from '../paths.js';
import { isAlive, type ProcessRecord, startTimeOf, stopProcess } from '../processes/process-record.js';
import { onSignal, poll } from '../processes/run.js';
import { restartService } from './lifecycle.js';

export interface UpOptions {
  detach?: boolean;
  localReceivers?: boolean;
  replicas?: Record<string, number>;
}

/** Starts the fleet; stays in the foreground unless `detach` is set. */
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
  const { baseUrl, docsUrl, mailboxUrl, admin, localReceivers, logs } = summary;
  const row = (label: string, value: string) => console.log(`    ${dim(label.padEnd(12))} ${value}`);
  console.log(`\n  ${green('●')} ${bold(`The fleet is ready${seconds && ` (${seconds} s)`}`)}\n`);
  row('API', bold(baseUrl));
  row('docs', docsUrl);
  row('mailbox', mailboxUrl);
  row('admin', `${admin.email}   ${admin.password}`);
  if (localReceivers) row('receivers', 'webhooks may be sent to this machine (--local-receivers)');
  row('logs', `./fleet logs <service>   ${dim(logs)}`);
  row('stop', `${stop}\n`);
}
