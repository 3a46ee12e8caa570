import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** Time after which a loop lets the other work of the process go on, in milliseconds. */
const YIELD_AFTER_MS = 1;

/** Calls `work` for each item of a long list without blocking the event loop for longer than a few milliseconds. */
export async function forEachYielding<T>(items: readonly T[], work: (item: T, index: number) => void): Promise<void> {
  let startedMs = performance.now();
  for (const [index, item] of items.entries()) {
    work(item, index);
    if (performance.now() - startedMs < YIELD_AFTER_MS) continue;
    await yieldToEventLoop();
    startedMs = performance.now();
  }
}

/** Maps a long list without blocking the event loop for longer than a few milliseconds. */
export async function mapYielding<T, Result>(items: readonly T[], map: (item: T) => Result): Promise<Result[]> {
  const results: Result[] = [];
  await forEachYielding(items, (item) => results.push(map(item)));
  return results;
}
