import { RequestExpired } from './request-deadline.errors.js';

/**
 * The time limit of one request, shared by the layer that responds to it and the transactions that run for it, so that a
 * caller who receives the error of a late request can rely on it: either the limit expires first and every later COMMIT
 * is refused, or a COMMIT was sent first and the caller gets the outcome.
 */
export class RequestDeadline {
  private readonly endsAt: number;
  private commits = 0;
  private expired = false;

  /** @param timeoutMs  from now on */
  constructor(timeoutMs: number) {
    this.endsAt = performance.now() + timeoutMs;
  }

  /** Milliseconds that are left, at least 1. */
  get remainingMs(): number {
    return Math.max(1, Math.ceil(this.endsAt - performance.now()));
  }

  /** Reads the clock too: on a busy event loop the timer that calls `expire` is late. @throws RequestExpired */
  assertOpen(): void {
    const isLate = this.commits === 0 && performance.now() >= this.endsAt;
    if (this.expired || isLate) throw new RequestExpired();
  }

  /** Call it in the same tick in which COMMIT is sent. @throws RequestExpired */
  startCommit(): void {
    this.assertOpen();
    this.commits += 1;
  }

  /** Refuses every later commit. @returns false when one was sent already: the outcome is then the response */
  expire(): boolean {
    if (this.commits === 0) this.expired = true;
    return this.expired;
  }
}
