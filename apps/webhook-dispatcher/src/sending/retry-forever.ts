import { setTimeout as sleep } from 'node:timers/promises';

/** Waits between attempts, in milliseconds; the last one repeats. */
const WAITS_MS = [100, 250, 500, 1_000, 2_000];

/**
 * Does what must be done sooner or later, for as long as it takes.
 * @param failed  is told of each failure; what it throws ends the attempts
 */
export async function retryForever<T>(work: () => Promise<T>, failed: (error: unknown) => void): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      failed(error);
      await sleep(WAITS_MS[Math.min(failures, WAITS_MS.length - 1)], undefined, { ref: false });
    }
  }
}
