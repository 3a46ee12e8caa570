import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { poll } from './run.js';

/** A started process. The start time identifies it: the system reuses process ids. */
export interface ProcessRecord {
  name: string;
  pid: number;
  start: string;
  /** The signal that stops it in an orderly way. */
  signal: NodeJS.Signals;
  /** True when it leads a process group that is stopped with it. */
  group?: boolean;
}

/** Returns when a process started, as an opaque text; null when it has ended. A zombie counts as ended. */
export function startTimeOf(pid: number): string | null {
  if (process.platform !== 'linux') {
    const { status, stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' });
    const [, state, start] = /^([^\s])\S*\s+(.+)$/.exec(stdout.trim()) ?? [];
    return status !== 0 || state === 'Z' ? null : (start ?? null);
  }
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The fields after the process name, which is in brackets and may contain blanks: state first, start time 20th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

/** Returns what a process is recognized by later. */
export const identify = (pid: number) => ({ pid, start: startTimeOf(pid) ?? '' });

export function isAlive(record: Pick<ProcessRecord, 'pid' | 'start'> | null | undefined): boolean {
  return Boolean(record?.start) && startTimeOf(record?.pid ?? 0) === record?.start;
}

export async function stopProcess(record: ProcessRecord, graceMs = 10_000): Promise<void> {
  for (const [signal, timeoutMs] of [[record.signal, graceMs] as const, ['SIGKILL', 3_000] as const]) {
    if (!isAlive(record)) return;
    try {
      process.kill(record.group ? -record.pid : record.pid, signal);
    } catch {
      // the process ended in the meantime
    }
    await poll(() => !isAlive(record), { timeoutMs });
  }
}

/** Stops services and commands first, then the stores they use. */
export async function stopAll(records: readonly ProcessRecord[], graceMs?: number): Promise<void> {
  const isStore = ({ name }: ProcessRecord) => name.startsWith('store:');
  await Promise.all(records.filter((record) => !isStore(record)).map((record) => stopProcess(record, graceMs)));
  await Promise.all(records.filter(isStore).map((record) => stopProcess(record, graceMs)));
}
