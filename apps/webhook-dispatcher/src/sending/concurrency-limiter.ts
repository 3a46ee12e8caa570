import { ArrayQueue } from './array-queue.js';

/** Limits how many run at a time, and queues who waits for room. */
export class ConcurrencyLimiter<Waiter> {
  readonly waiting = new ArrayQueue<Waiter>();
  active = 0;
  /** Number of webhooks that refer to it; unused limiters are removed. */
  users = 0;

  constructor(public limit: number) {}

  get hasRoom(): boolean {
    return this.active < this.limit;
  }
}
