import { setTimeout as sleep } from 'node:timers/promises';

export interface Patience {
  /** Default 10,000. */
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
  const { timeoutMs = 10_000, everyMs = 20 } = patience;
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
