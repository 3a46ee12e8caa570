import { spawn } from 'node:child_process';

const children = new Set();

/**
 * Runs a command whose output the person sees.
 * @returns {Promise<number>} its exit code; 1 when it could not start or was killed
 */
export function runInForeground(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options });
    children.add(child);
    const finish = (code) => {
      children.delete(child);
      resolve(code ?? 1);
    };
    child.once('error', (error) => {
      console.error(error.message);
      finish(1);
    });
    child.once('close', finish);
  });
}

export function endForeground() {
  for (const child of children) child.kill('SIGTERM');
}

/** Runs `clean` once when this process is asked to end, and then ends it. */
export function onEnd(clean) {
  let ending = null;
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ]) {
    process.on(signal, () => {
      ending ??= clean().finally(() => process.exit(code));
    });
  }
}
