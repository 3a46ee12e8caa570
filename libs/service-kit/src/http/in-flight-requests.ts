import type { InFlight, KitResponse } from './kit-request.js';

const SWEEP_MS = 500;

/** Every request that has not been answered yet: who waits too long, and whether anybody is left at shutdown. */
export class InFlightRequests {
  private readonly responses = new Set<KitResponse>();
  private idle: (() => void)[] = [];
  private timer?: NodeJS.Timeout;

  /** @param onLate  called once for a request whose deadline has passed */
  constructor(private readonly onLate: (response: KitResponse) => void) {}

  get size(): number {
    return this.responses.size;
  }

  add(response: KitResponse, record: InFlight): void {
    response.inFlight = record;
    this.responses.add(response);
    this.timer ??= setInterval(() => this.sweep(), SWEEP_MS).unref();
  }

  remove(response: KitResponse): void {
    this.responses.delete(response);
    if (this.responses.size > 0) return;
    const waiting = this.idle;
    this.idle = [];
    for (const resolve of waiting) resolve();
  }

  /** Resolves when the last request has been answered. */
  whenIdle(): Promise<void> {
    if (this.responses.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.idle.push(resolve));
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private sweep(): void {
    const now = performance.now();
    for (const response of this.responses) {
      const record = response.inFlight;
      if (record === undefined || record.deadlineAt > now) continue;
      record.deadlineAt = Infinity;
      this.onLate(response);
    }
  }
}
