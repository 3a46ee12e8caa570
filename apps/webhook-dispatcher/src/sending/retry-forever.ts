import { setTimeout as sleep } from 'node:timers/promises';

/** Delays between attempts in milliseconds; the last one repeats. */
const WAITS_MS = [100, 250, 500, 1_000, 2_000];

/**
 * Repeats work until it succeeds. `p-retry` would end at a TypeError, after which nothing would read events.
 * @param onFailure  called after each failure; when it throws, the repetition ends with its error
 */
export async function retryForever<T>(work: () => Promise<T>, onFailure: (error: unknown) => void): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      onFailure(error);
      await sleep(WAITS_MS[Math.min(failures, WAITS_MS.length - 1)], undefined, { ref: false });
    }
  }
}
