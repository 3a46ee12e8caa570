import { setImmediate as nextTurn } from 'node:timers/promises';

/** Time after which a loop lets the other work of the process go on, in milliseconds. */
const TURN_MS = 5;

/** Calls `work` for each item of a long list without blocking the event loop for longer than a few milliseconds. */
export async function forEachInTurns<T>(items: readonly T[], work: (item: T, index: number) => void): Promise<void> {
  let startedMs = performance.now();
  for (const [index, item] of items.entries()) {
    work(item, index);
    if (performance.now() - startedMs < TURN_MS) continue;
    await nextTurn();
    startedMs = performance.now();
  }
}

/** Maps a long list without blocking the event loop for longer than a few milliseconds. */
export async function mapInTurns<T, Result>(items: readonly T[], map: (item: T) => Result): Promise<Result[]> {
  const results: Result[] = [];
  await forEachInTurns(items, (item) => results.push(map(item)));
  return results;
}
