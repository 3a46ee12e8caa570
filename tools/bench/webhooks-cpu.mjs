// CPU of the processes behind a webhook benchmark, from /proc: on Linux only, elsewhere 0.
import fs from 'node:fs';

const MICROS_PER_TICK = 10_000; // Linux counts CPU in hundredths of a second

/** The fields of /proc/<pid>/stat from the state on: 1 is the parent, 11 to 14 the ticks of it and of its ended children. */
function statOf(pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

const ticksOf = (stat, from, to) => stat.slice(from, to).reduce((sum, each) => sum + Number(each), 0);

/** CPU of one process so far, in µs. */
export const cpuOf = (pid) => ticksOf(statOf(pid), 11, 13) * MICROS_PER_TICK;

/** A server and everything it has forked, those that have ended included. */
export function cpuOfFamily(pid) {
  const children = processes().filter((each) => Number(statOf(each)[1]) === pid);
  const own = ticksOf(statOf(pid), 11, 15) * MICROS_PER_TICK;
  return children.reduce((sum, child) => sum + cpuOf(child), own);
}

export const parentOf = (pid) => Number(statOf(pid)[1]);

/** The process that was started with these words in its command line. @returns 0 when there is none */
export function processStartedWith(...words) {
  const found = processes().find((pid) => {
    const line = readIfThere(`/proc/${pid}/cmdline`).split('\0');
    return words.every((word) => line.some((argument) => argument.includes(word)));
  });
  return Number(found ?? 0);
}

/** Memory a process has in use, in MB. */
export const memoryOf = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readIfThere(`/proc/${pid}/status`))?.[1] ?? 0) / 1_024;

const processes = () =>
  fs.existsSync('/proc/self/stat') ? fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];

function readIfThere(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
