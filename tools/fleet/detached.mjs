import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { makeDir, ROOT } from '../paths.mjs';
import { isAlive, startOf } from '../processes/identity.mjs';
import { stop } from '../processes/stop.mjs';
import { poll } from '../processes/wait.mjs';
import { FLEET_DIR, LAUNCHER_LOG, LOG_DIR } from './layout.mjs';
import { readState } from './state.mjs';

/**
 * Starts the launcher in a session of its own, shows what it says until the fleet is ready, and leaves it running.
 * @returns {Promise<number>} the exit code
 */
export async function startDetached(args) {
  makeDir(FLEET_DIR);
  makeDir(LOG_DIR, 0o700);
  const log = fs.openSync(LAUNCHER_LOG, 'a', 0o600);
  const from = fs.fstatSync(log).size;
  const child = spawn(process.execPath, [path.join(ROOT, 'tools/fleet.mjs'), 'up', ...args], {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, npm_lifecycle_event: '', FLEET_ENDS_WITH_PARENT: '' },
  });
  fs.closeSync(log);
  const launcher = { pid: child.pid, start: startOf(child.pid), signal: 'SIGTERM' };
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => void stop(launcher, 60_000).then(() => process.exit(1)));

  const show = follower(LAUNCHER_LOG, from);
  await poll(() => (show(), isUp(launcher) || !isAlive(launcher)), { timeoutMs: 600_000, everyMs: 50 });
  await poll(() => (show(), false), { timeoutMs: 100, everyMs: 50 });
  child.unref();
  return isUp(launcher) ? 0 : 1;
}

function isUp({ pid }) {
  const { launcher, phase } = readState();
  return launcher?.pid === pid && phase === 'ready';
}

/** Prints what was added to a file since the last call. */
function follower(file, position) {
  const handle = fs.openSync(file, 'r');
  const buffer = Buffer.alloc(64 * 1024);
  return () => {
    for (;;) {
      const length = fs.readSync(handle, buffer, 0, buffer.length, position);
      if (!length) return;
      position += length;
      process.stdout.write(buffer.subarray(0, length));
    }
  };
}
