import { spawnSync } from 'node:child_process';
import { statOf } from './proc.mjs';

/**
 * When the process with this pid started, as an opaque token. A pid alone is not an identity: the system uses it
 * again, and a killed child whose parent does not reap it (a container's pid 1) stays in the table as a zombie.
 * @returns null when no such process lives
 */
export function startOf(pid) {
  if (!pid) return null;
  return process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid);
}

function startFromProc(pid) {
  const stat = statOf(pid);
  return !stat || stat.state === 'Z' || stat.state === 'X' ? null : stat.start;
}

function startFromPs(pid) {
  const { status, stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' });
  const line = (stdout ?? '').trim();
  return status !== 0 || !line || line.startsWith('Z') ? null : line.replace(/^\S+\s+/, '');
}

/** @param {{ pid: number, start: string } | null | undefined} record  what was written down when it was started */
export function isAlive(record) {
  return Boolean(record?.start) && startOf(record.pid) === record.start;
}
