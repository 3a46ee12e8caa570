import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { FleetError } from '../errors.js';
import { type ProcessRecord, startTimeOf, stopAll } from './process-record.js';
import type { WatchdogMessage } from './watchdog.js';

export interface ProcessSpec {
  name: string;
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /** File its output is appended to; without one the user sees the output. */
  logFile?: string;
  /** Discards standard output. */
  quiet?: boolean;
  signal?: NodeJS.Signals;
  cwd?: string;
}

export interface RunningProcess {
  record: ProcessRecord;
  /** Resolves with the exit code; 1 when it was killed. */
  ended: Promise<number>;
  /** How it ended: `exit code 1`, `killed by SIGKILL`; null while it runs. */
  ending: string | null;
}

/**
 * The processes of one run. Each runs in a session of its own, so that Ctrl-C reaches the launcher alone, which then
 * stops services before stores. A watchdog stops them when the launcher is killed.
 */
export class ProcessGroup {
  private readonly watchdog: ChildProcess;
  private readonly running = new Map<number, ProcessRecord>();
  isReleased = false;

  /** @param temporaryDir  deleted by the watchdog */
  constructor(temporaryDir?: string) {
    const script = path.join(import.meta.dirname, 'watchdog.js');
    this.watchdog = spawn(process.execPath, ['--max-old-space-size=32', '--max-semi-space-size=1', script], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.watchdog.stdin?.on('error', () => {});
    this.watchdog.unref();
    if (temporaryDir) this.notify({ remove: temporaryDir });
  }

  get records(): ProcessRecord[] {
    return [...this.running.values()];
  }

  /** @throws FleetError after `release` */
  start(spec: ProcessSpec): RunningProcess {
    const { name, command, args, env, logFile, quiet, signal = 'SIGTERM', cwd = '/' } = spec;
    if (this.isReleased) throw new FleetError(`${name} was not started: the fleet is stopping.`);
    const log = logFile === undefined ? null : fs.openSync(logFile, 'a', 0o600);
    const stdio = ['ignore', log ?? (quiet ? 'ignore' : 'inherit'), log ?? 'inherit'] as const;
    const child = spawn(command, args, { cwd, env, detached: true, stdio: [...stdio] });
    if (log !== null) fs.closeSync(log);
    const { pid = 0 } = child;
    const record = { name, pid, start: startTimeOf(pid) ?? '', signal, group: log === null };
    this.running.set(pid, record);
    this.notify({ watch: record });
    const started: RunningProcess = { record, ending: null, ended: Promise.resolve(1) };
    started.ended = new Promise((resolve) => {
      const finish = (ending: string, exitCode: number) => {
        started.ending ??= ending;
        this.running.delete(pid);
        resolve(exitCode);
      };
      child.once('error', (error) => finish(error.message, 1));
      child.once('exit', (code, by) => finish(by ? `killed by ${by}` : `exit code ${code}`, code ?? 1));
    });
    return started;
  }

  /** Runs a command of the checkout and shows its output. @returns its exit code */
  async run(command: string, args: readonly string[], options: Partial<ProcessSpec> = {}): Promise<number> {
    const env = { ...process.env, ...options.env };
    const started = this.start({ name: path.basename(command), command, args, ...options, env });
    return started.ended;
  }

  /** Stops what still runs, refuses further starts, and ends the watchdog. */
  async release(graceMs?: number): Promise<void> {
    this.isReleased = true;
    await stopAll(this.records, graceMs);
    this.notify({ release: true });
  }

  private notify(message: WatchdogMessage): void {
    this.watchdog.stdin?.write(`${JSON.stringify(message)}\n`);
  }
}

/** Returns the last lines of a log, indented, for an error message. */
export function tailOf(file: string, lines = 25): string {
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trimEnd() : '(no log)';
  return text.split('\n').slice(-lines).join('\n').replace(/^/gm, '    ');
}
