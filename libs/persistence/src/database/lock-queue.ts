import pTimeout from 'p-timeout';
import { DatabaseTooBusy } from './database.errors.js';

/**
 * Runs works of one name one after the other, in the order of their calls, within one process. A waiting work has no
 * connection.
 */
export class LockQueue {
  private readonly tails = new Map<string, Promise<void>>();

  /** @param waitMs  time limit of the wait @throws DatabaseTooBusy */
  async run<T>(name: string, waitMs: number, work: () => Promise<T>): Promise<T> {
    const before = this.tails.get(name);
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const tail = Promise.resolve(before).then(() => finished);
    this.tails.set(name, tail);
    try {
      if (before) await pTimeout(before, { milliseconds: waitMs, message: lockTimeout(name) });
      return await work();
    } finally {
      finish();
      if (this.tails.get(name) === tail) this.tails.delete(name);
    }
  }
}

export const lockTimeout = (name: string): DatabaseTooBusy =>
  new DatabaseTooBusy(new Error(`The lock ${name} was not free in time`));
