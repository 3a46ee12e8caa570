import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { startOf } from './identity.mjs';
import { stopAll } from './stop.mjs';

/**
 * Starts the processes of one run and answers for them: each in its own session (so that Ctrl-C reaches the launcher
 * alone and the order of stopping is ours), each written to its log, each known to a watchdog that stops it when the
 * launcher dies without a word.
 */
export class Keeper {
  #watchdog;
  /** @type {Map<number, { name: string, pid: number, start: string, signal: string }>} */
  #records = new Map();
  #released = false;
  #onEnd;

  /**
   * @param {{ removeAtEnd?: string[], onEnd?: (name: string, how: string) => void }} options  folders the watchdog
   *   deletes if it has to do the cleaning; told about each process that ends before `release`
   */
  constructor({ removeAtEnd = [], onEnd = () => {} } = {}) {
    this.#onEnd = onEnd;
    const script = path.join(import.meta.dirname, 'watchdog.mjs');
    this.#watchdog = spawn(process.execPath, ['--max-old-space-size=32', '--max-semi-space-size=1', script], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#watchdog.stdin.on('error', () => {});
    this.#watchdog.unref();
    this.#watchdog.stdin.unref?.();
    for (const dir of removeAtEnd) this.removeAtEnd(dir);
  }

  removeAtEnd(dir) {
    this.#tell({ remove: dir });
  }

  /**
   * @param {{ name: string, command: string, args: string[], logFile: string, env?: object, cwd?: string,
   *   user?: { uid: number, gid: number } | null, signal?: string, append?: boolean }} what
   * @returns {{ record: object, child: import('node:child_process').ChildProcess, ended: () => string | null }}
   *   `ended` says how it ended, null while it runs
   */
  start({ name, command, args, logFile, env = {}, cwd = '/', user = null, signal = 'SIGTERM', append = false }) {
    if (this.#released) throw new Failure(`${name} was not started: everything is being stopped.`);
    const log = fs.openSync(logFile, append ? 'a' : 'w', 0o600);
    const child = spawn(command, args, {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', log, log],
      ...(user && { uid: user.uid, gid: user.gid }),
    });
    fs.closeSync(log);
    let ended = null;
    child.once('error', (error) => (ended = error.message));
    const record = { name, pid: child.pid, start: startOf(child.pid), signal };
    child.once('exit', (code, killedBy) => {
      ended ??= killedBy ? `killed by ${killedBy}` : `exit code ${code}`;
      this.#records.delete(record.pid);
      if (!this.#released) this.#onEnd(name, ended);
    });
    if (child.pid) {
      this.#records.set(record.pid, record);
      this.#tell({ watch: record });
    }
    return { record, child, ended: () => ended };
  }

  get isReleased() {
    return this.#released;
  }

  get records() {
    return [...this.#records.values()];
  }

  /** Stops what still runs, lets nothing start any more, and ends the watchdog's duty. */
  async release(graceMs) {
    this.#released = true;
    await stopAll(this.records, graceMs);
    this.#tell({ bye: true });
  }

  #tell(message) {
    this.#watchdog.stdin.write(`${JSON.stringify(message)}\n`);
  }
}

/** The last lines of a log, indented, for an error message. */
export function tailOf(file, lines = 25) {
  try {
    const text = fs.readFileSync(file, 'utf8').trimEnd();
    return text
      .split('\n')
      .slice(-lines)
      .map((line) => `    ${line.slice(0, 400)}`)
      .join('\n');
  } catch {
    return '    (no log)';
  }
}
