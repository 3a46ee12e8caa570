// What Linux says of processes in /proc. Elsewhere, and of a process that has gone, it says nothing.
import fs from 'node:fs';

const MICROS_PER_TICK = 10_000; // Linux counts CPU in hundredths of a second

/** @returns {number[]} of all processes there are */
export function pids() {
  const names = fs.existsSync('/proc/self/stat') ? fs.readdirSync('/proc') : [];
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

/**
 * `state` is a letter, `start` an opaque token. CPU is user and system time so far, in µs: of the process, and of
 * children that have ended and that it has waited for.
 * @returns {{ state: string, parent: number, cpuMicros: number, endedChildrenCpuMicros: number, start: string } | null}
 */
export function statOf(pid) {
  const stat = readProc(pid, 'stat');
  if (!stat) return null;
  // What stands before the state is the pid and, in brackets, a name that may hold spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const micros = (user, system) => (Number(user) + Number(system)) * MICROS_PER_TICK;
  return {
    state: fields[0],
    parent: Number(fields[1]),
    cpuMicros: micros(fields[11], fields[12]),
    endedChildrenCpuMicros: micros(fields[13], fields[14]),
    start: fields[19],
  };
}

/** The words a process was started with, with spaces between them. */
export const commandLineOf = (pid) => readProc(pid, 'cmdline').replaceAll('\0', ' ');

/** Memory a process has in use, in MB. */
export const memoryOf = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readProc(pid, 'status'))?.[1] ?? 0) / 1_024;

function readProc(pid, file) {
  try {
    return fs.readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
