import { setTimeout as sleep } from 'node:timers/promises';

/** Failures answer no sooner than this, so that the time says nothing about the reason. @see CONTRACT.md 4.7 */
const FLOOR_MS = 350;

/** Runs `work`; a failure is held back until the floor has passed. Successes are not delayed. */
export async function withLatencyFloor<T>(work: () => Promise<T>, floorMs = FLOOR_MS): Promise<T> {
  const started = performance.now();
  try {
    return await work();
  } catch (error) {
    const rest = floorMs - (performance.now() - started);
    if (rest > 0) await sleep(rest);
    throw error;
  }
}
