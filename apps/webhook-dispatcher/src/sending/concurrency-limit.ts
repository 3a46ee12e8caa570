/** First attempts and retries; retries never use a limit up. */
export type Kind = 0 | 1;
export const FIRST_ATTEMPT: Kind = 0;
export const RETRY: Kind = 1;
export const KINDS: readonly Kind[] = [FIRST_ATTEMPT, RETRY];

export const otherKind = (kind: Kind): Kind => (kind === FIRST_ATTEMPT ? RETRY : FIRST_ATTEMPT);

/** The share of every limit that retries may use; the rest is reserved for first attempts. */
const RETRY_SHARE = 0.75;

/** Counts what is active against a limit. */
export class ConcurrencyLimit {
  private firstAttempts = 0;
  private retries = 0;
  private currentLimit = 0;
  private retryLimit = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get limit(): number {
    return this.currentLimit;
  }

  /** Changes the limit. What is active beyond a lowered limit continues. */
  set limit(limit: number) {
    this.currentLimit = limit;
    this.retryLimit = Math.max(1, Math.floor(limit * RETRY_SHARE));
  }

  get active(): number {
    return this.firstAttempts + this.retries;
  }

  allows(kind: Kind): boolean {
    return this.active < this.currentLimit && (kind === FIRST_ATTEMPT || this.retries < this.retryLimit);
  }

  acquire(kind: Kind): void {
    if (kind === FIRST_ATTEMPT) this.firstAttempts += 1;
    else this.retries += 1;
  }

  release(kind: Kind): void {
    if (kind === FIRST_ATTEMPT) this.firstAttempts -= 1;
    else this.retries -= 1;
  }
}
