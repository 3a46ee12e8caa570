import { spawn } from 'node:child_process';
import { poll } from './wait.mjs';

/** Children of this process that run to their end; they must not outlive it. */
const running = new Set();
let isEnding = false;

/**
 * Runs a command to its end and gathers what it says.
 * @returns {Promise<{ status: number | null, stdout: string, stderr: string, error?: Error }>} never rejects: a
 *   command that is missing or killed has status null
 */
export function run(command, args, { timeoutMs, ...options } = {}) {
  return new Promise((resolve) => {
    if (isEnding)
      return resolve({ status: null, stdout: '', stderr: '', error: new Error('everything is being stopped') });
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs, ...options });
    running.add(child);
    const said = { stdout: '', stderr: '' };
    child.stdout?.setEncoding('utf8').on('data', (text) => (said.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text) => (said.stderr += text));
    const finish = (result) => {
      running.delete(child);
      resolve({ ...result, ...said });
    };
    child.once('error', (error) => finish({ status: null, error }));
    child.once('close', (status) => finish({ status }));
  });
}

/** Ends the commands that still run and lets no other begin; called when this process ends for whatever reason. */
export function endRunning() {
  isEnding = true;
  for (const child of running) child.kill('SIGTERM');
}

/** The same, and waits until they are gone. */
export async function endRunningAndWait() {
  endRunning();
  await poll(() => running.size === 0, { timeoutMs: 5_000 });
}

/** The first line that says what went wrong. */
export function firstLine({ stderr, stdout, error }) {
  return (error?.message || stderr || stdout || 'no output').trim().split('\n')[0];
}
