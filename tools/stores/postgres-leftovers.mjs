import fs from 'node:fs';
import path from 'node:path';
import { startOf } from '../processes/identity.mjs';
import { commandLineOf, pids } from '../processes/proc.mjs';
import { run } from '../processes/run.mjs';
import { stop } from '../processes/stop.mjs';

/**
 * Clears the way for a start: a server of an earlier run on this folder is stopped; a pid file whose process is gone,
 * or is another program that got the same pid, is deleted.
 */
export async function leaveNothingBehind(home) {
  const pidFile = path.join(home, 'postmaster.pid');
  if (!fs.existsSync(pidFile)) return;
  const pid = Number(fs.readFileSync(pidFile, 'utf8').split('\n')[0]);
  const start = startOf(pid);
  if (start && (await isServerOf(pid, home))) await stop({ pid, start, signal: 'SIGINT' });
  else fs.rmSync(pidFile, { force: true });
}

async function isServerOf(pid, home) {
  const command = await commandLine(pid);
  return command.includes('postgres') && (command.includes(home) || command.includes(fs.realpathSync(home)));
}

async function commandLine(pid) {
  if (process.platform === 'linux') return commandLineOf(pid);
  return (await run('ps', ['-o', 'command=', '-p', String(pid)])).stdout;
}

/** After a kill -9, backends without their server still hold the shared memory: they work in the data folder. */
export function releaseSharedMemory(home) {
  if (process.platform !== 'linux') return;
  const folder = fs.realpathSync(home);
  for (const pid of pids()) {
    try {
      if (fs.readlinkSync(`/proc/${pid}/cwd`) === folder) process.kill(pid, 'SIGTERM');
    } catch {
      // not ours to look at, or gone
    }
  }
}
