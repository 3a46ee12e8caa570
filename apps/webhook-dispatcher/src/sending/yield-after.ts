import { setTimeout as sleep } from 'node:timers/promises';

/** The pause after a claim as a multiple of its duration, during which new events have the database. */
const PAUSE_FACTOR = 2;

/**
 * Starts measuring the duration of work.
 * @returns a function to call after the work, which waits for a multiple of its duration
 */
export function yieldAfter(): () => Promise<void> {
  const startedAt = performance.now();
  return () => sleep((performance.now() - startedAt) * PAUSE_FACTOR, undefined, { ref: false });
}
