import { setTimeout as sleep } from 'node:timers/promises';

/** Failures take at least this long, so that the response time does not reveal the reason. */
const FLOOR_MS = 350;

/** Runs `work` and delays a failure until the floor has passed. Successes are not delayed. */
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
