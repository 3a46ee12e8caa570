/** Runs in a row that the PSA refuses for the credentials, after which a sync is disabled. */
export const MAX_CREDENTIAL_FAILURES = 5;

const FIRST_RETRY_SECONDS = 300;
/** A run that stopped at its limit goes on soon. */
const CONTINUE_SECONDS = 60;
/** Syncs that were enabled together drift apart by up to a tenth of their wait in both directions. */
const JITTER = 0.1;

/** The end of a run: complete, stopped at a limit with more to read, or failed for the n-th time in a row. */
export type RunEnd = { kind: 'complete' } | { kind: 'truncated' } | { kind: 'failed'; failures: number };

/**
 * Returns the seconds until the next run. After failures the wait doubles from five minutes, up to the interval.
 * @param random  from 0 to 1
 */
export function secondsToNextRun(end: RunEnd, intervalMinutes: number, random: number): number {
  const interval = intervalMinutes * 60;
  return Math.round(waitOf(end, interval) * (1 + JITTER * (2 * random - 1)));
}

function waitOf(end: RunEnd, interval: number): number {
  switch (end.kind) {
    case 'complete':
      return interval;
    case 'truncated':
      return CONTINUE_SECONDS;
    case 'failed':
      return Math.min(interval, FIRST_RETRY_SECONDS * 2 ** Math.min(end.failures - 1, 20));
  }
}
