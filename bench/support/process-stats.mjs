// Reads /proc: CPU in µs and memory of processes. Elsewhere than on Linux the figures are 0.
import fs from 'node:fs';

const MICROS_PER_TICK = 10_000; // Linux counts CPU in hundredths of a second

/** CPU of one process so far. */
export const cpuOf = (pid) => statOf(pid)?.cpuMicros ?? 0;

/** CPU of a server and everything it has forked, including processes that have ended. */
export function cpuOfFamily(pid) {
  const children = processIds().filter((each) => parentOf(each) === pid);
  const { cpuMicros = 0, endedChildrenCpuMicros = 0 } = statOf(pid) ?? {};
  return children.reduce((sum, child) => sum + cpuOf(child), cpuMicros + endedChildrenCpuMicros);
}

/** @returns NaN when there is no such process */
export const parentOf = (pid) => statOf(pid)?.parent ?? NaN;

/** Finds the process that was started with these words in its command line. @returns 0 when there is none */
export function findProcess(...words) {
  const matches = (pid) => {
    const command = readProc(pid, 'cmdline').replaceAll('\0', ' ');
    return words.every((word) => command.includes(word));
  };
  return processIds().find(matches) ?? 0;
}

/** Memory a process has in use, in MB. */
export const memoryOf = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readProc(pid, 'status'))?.[1] ?? 0) / 1_024;

function processIds() {
  const names = fs.existsSync('/proc/self/stat') ? fs.readdirSync('/proc') : [];
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

/** CPU is user and system time: of the process, and of ended children it has waited for. */
function statOf(pid) {
  const stat = readProc(pid, 'stat');
  if (!stat) return null;
  // The fields after the process name, which is in brackets and may contain blanks and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const micros = (user, system) => (Number(user) + Number(system)) * MICROS_PER_TICK;
  return {
    parent: Number(fields[1]),
    cpuMicros: micros(fields[11], fields[12]),
    endedChildrenCpuMicros: micros(fields[13], fields[14]),
  };
}

function readProc(pid, file) {
  try {
    return fs.readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
