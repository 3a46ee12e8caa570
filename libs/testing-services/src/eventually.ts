import { setTimeout as sleep } from 'node:timers/promises';

export interface Patience {
  /** Default 30,000: on a busy machine a start or a hand-over takes seconds. */
  timeoutMs?: number;
  /** Default 20. */
  everyMs?: number;
}

/**
 * Calls `attempt` until it no longer throws, instead of sleeping for a fixed time.
 * @returns what it returned
 * @throws its last error, once the time is up
 */
export async function eventually<T>(attempt: () => T | Promise<T>, patience: Patience = {}): Promise<T> {
  const { timeoutMs = 30_000, everyMs = 20 } = patience;
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() >= giveUpAt) throw error;
    }
    await sleep(everyMs);
  }
}
