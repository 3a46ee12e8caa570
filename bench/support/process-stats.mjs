// CPU of the processes behind a webhook benchmark, in µs: on Linux only, elsewhere 0.
import { commandLineOf, pids, statOf } from '../processes/proc.mjs';

/** One process so far. */
export const cpuOf = (pid) => statOf(pid)?.cpuMicros ?? 0;

/** A server and everything it has forked, those that have ended included. */
export function cpuOfFamily(pid) {
  const children = pids().filter((each) => parentOf(each) === pid);
  const { cpuMicros = 0, endedChildrenCpuMicros = 0 } = statOf(pid) ?? {};
  return children.reduce((sum, child) => sum + cpuOf(child), cpuMicros + endedChildrenCpuMicros);
}

/** @returns NaN when there is no such process: the parent of nobody */
export const parentOf = (pid) => statOf(pid)?.parent ?? NaN;

/** The process that was started with these words in its command line. @returns 0 when there is none */
export function processStartedWith(...words) {
  const isIt = (pid) => {
    const command = commandLineOf(pid);
    return words.every((word) => command.includes(word));
  };
  return pids().find(isIt) ?? 0;
}
