import { spawn } from 'node:child_process';

/**
 * Runs a command to its end and gathers what it says.
 * @returns {Promise<{ status: number | null, stdout: string, stderr: string, error?: Error }>} never rejects: a
 *   command that is missing or killed has status null
 */
export function run(command, args, { timeoutMs, ...options } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs, ...options });
    const said = { stdout: '', stderr: '' };
    child.stdout?.setEncoding('utf8').on('data', (text) => (said.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text) => (said.stderr += text));
    child.once('error', (error) => resolve({ status: null, ...said, error }));
    child.once('close', (status) => resolve({ status, ...said }));
  });
}

/** The first line that says what went wrong. */
export function firstLine({ stderr, stdout, error }) {
  return (error?.message || stderr || stdout || 'no output').trim().split('\n')[0];
}
