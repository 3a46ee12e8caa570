import { isAlive } from './identity.mjs';
import { poll } from './wait.mjs';

/** Asks a recorded process to end with its own signal, and ends it after `graceMs` if it does not. */
export async function stop(record, graceMs = 10_000) {
  if (!isAlive(record)) return;
  signal(record, record.signal ?? 'SIGTERM');
  const gone = await poll(() => !isAlive(record), { timeoutMs: graceMs, everyMs: 20 });
  if (gone) return;
  signal(record, 'SIGKILL');
  await poll(() => !isAlive(record), { timeoutMs: 3_000 });
}

export const stopAll = (records, graceMs) => Promise.all(records.map((record) => stop(record, graceMs)));

function signal(record, name) {
  try {
    process.kill(record.pid, name);
  } catch {
    // gone between the look and the signal
  }
}
