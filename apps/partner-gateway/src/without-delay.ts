import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@rmm/service-kit';

/** An audit row that cannot be written within this does not hold the answer up any longer. */
const PATIENCE_MS = 1_000;

/** Waits for the audit row of a call that changes nothing: late or lost, it never changes the answer. */
export async function withoutDelay(written: Promise<void>, logger: Logger, complaint: string): Promise<void> {
  const kept = written.catch((err: unknown) => logger.warn({ err }, complaint));
  const patience = new AbortController();
  await Promise.race([kept, sleep(PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => undefined)]);
  patience.abort();
}
