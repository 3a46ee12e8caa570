import pTimeout from 'p-timeout';
import type { Logger } from '@rmm/service-kit';

/** An audit entry that takes longer no longer delays the response. */
const MAX_WAIT_MS = 1_000;

/** Waits a limited time for the audit entry of a read. A late or failed entry is logged and never changes the response. */
export async function waitForAudit(written: Promise<void>, logger: Logger): Promise<void> {
  const settled = written.catch((err: unknown) => logger.warn({ err }, 'audit entry was not written; it is lost'));
  await pTimeout(settled, { milliseconds: MAX_WAIT_MS, fallback: () => undefined });
}
