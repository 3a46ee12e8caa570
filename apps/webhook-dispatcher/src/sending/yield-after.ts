import { setTimeout as sleep } from 'node:timers/promises';

/** A claim that fills its limit is followed by others: each leaves the database to new events for so many times as long. */
const REST = 2;

/**
 * Call it before a piece of work.
 * @returns to be called when it has ended: rests for a multiple of the time between
 */
export function yieldAfter(): () => Promise<void> {
  const startedAt = performance.now();
  return () => sleep((performance.now() - startedAt) * REST, undefined, { ref: false });
}
