import { execa } from 'execa';
import fs from 'node:fs';
import path from 'node:path';
import { FleetError, ignore } from '../console.js';
import { identify, type ProcessRecord, stopAll } from './process-record.js';
import type { WatchdogMessage } from './watchdog.js';

export interface ProcessSpec {
  name: string;
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /** File its output is appended to; without one the user sees the output. */
  logFile?: string;
  quiet?: boolean;
  signal?: NodeJS.Signals;
  cwd?: string;
}

export interface RunningProcess {
  record: ProcessRecord;
  /** Resolves with the exit code; 1 when it was killed. */
  ended: Promise<number>;
  /** `exit code 1`, `killed by SIGKILL`; null while it runs. */
  ending: string | null;
}

/** Options of a process in a session of its own, which this process neither buffers nor ends by itself. */
const DETACHED = { detached: true, cleanup: false, reject: false, buffer: false, extendEnv: false } as const;

/**
 * The processes of one run. Each runs in a session of its own, so that Ctrl-C reaches the launcher alone, which then
 * stops services before stores. A watchdog stops them when the launcher is killed.
 */
export class ProcessGroup {
  private readonly watchdog = execa(
    process.execPath,
    ['--max-old-space-size=32', '--max-semi-space-size=1', path.join(import.meta.dirname, 'watchdog.js')],
    { ...DETACHED, cwd: '/', stdin: 'pipe', stdout: 'ignore', stderr: 'ignore' },
  );
  private readonly running = new Map<number, ProcessRecord>();
  isReleased = false;

  /** @param temporaryDir  deleted at the end, also when this process is killed */
  constructor(temporaryDir?: string) {
    this.watchdog.stdin.on('error', ignore);
    this.watchdog.unref();
    if (temporaryDir) this.notify(temporaryDir);
  }

  get records(): ProcessRecord[] {
    return [...this.running.values()];
  }

  start(spec: ProcessSpec): RunningProcess {
    const { name, command, args, env, logFile, quiet, signal = 'SIGTERM', cwd = '/' } = spec;
    if (this.isReleased) throw new FleetError(`${name} was not started: the fleet is stopping.`);
    const log = logFile === undefined ? null : fs.openSync(logFile, 'a', 0o600);
    const output = (log ?? 'inherit') as 'inherit'; // execa's types do not name file descriptors
    const stdio = ['ignore', quiet ? 'ignore' : output, output] as const;
    const child = execa(command, args, { ...DETACHED, cwd, env, stdio });
    if (log !== null) fs.closeSync(log);
    const record = { name, ...identify(child.pid ?? 0), signal, group: log === null };
    this.running.set(record.pid, record);
    this.notify(record);
    const ended = child.then(({ exitCode, signal: by, originalMessage }) => {
      started.ending = by ? `killed by ${by}` : exitCode === undefined ? `${originalMessage}` : `exit code ${exitCode}`;
      this.running.delete(record.pid);
      return exitCode ?? 1;
    });
    const started: RunningProcess = { record, ending: null, ended };
    return started;
  }

  run(command: string, args: readonly string[], options: Partial<ProcessSpec> = {}): Promise<number> {
    const env = { ...process.env, ...options.env };
    return this.start({ name: path.basename(command), command, args, ...options, env }).ended;
  }

  /** Stops what still runs, refuses further starts, and waits until the watchdog has deleted the temporary folder. */
  async release(graceMs?: number): Promise<void> {
    this.isReleased = true;
    await stopAll(this.records, graceMs);
    this.watchdog.ref();
    this.watchdog.stdin.end();
    await this.watchdog;
  }

  private notify(message: WatchdogMessage): void {
    this.watchdog.stdin.write(`${JSON.stringify(message)}\n`);
  }
}

export function tailOf(file: string, lines = 25): string {
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trimEnd() : '(no log)';
  return text.split('\n').slice(-lines).join('\n').replace(/^/gm, '    ');
}
