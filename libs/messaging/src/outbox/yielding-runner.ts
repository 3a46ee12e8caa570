import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** Time after which the work waits for the next iteration, in milliseconds. */
const YIELD_AFTER_MS = 2;

/**
 * Runs work of one kind for a few milliseconds of each iteration of the event loop, so that no request waits longer for it.
 * Unlike `forEachYielding`, for one list, it limits what any number of callers do together.
 */
export class YieldingRunner {
  private endsAt = 0;
  private iteration?: Promise<void>;

  /** Runs a piece of work at once while there is time in this iteration, else in a later one. @throws what the work throws */
  async run<T>(work: () => T): Promise<Awaited<T>> {
    while (this.mustYield()) await this.iteration;
    return await work();
  }

  private mustYield(): boolean {
    this.iteration ??= this.startIteration();
    return performance.now() >= this.endsAt;
  }

  private async startIteration(): Promise<void> {
    this.endsAt = performance.now() + YIELD_AFTER_MS;
    await yieldToEventLoop();
    this.iteration = undefined;
  }
}
