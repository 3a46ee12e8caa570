/** First attempts and retries: the second never take all of a cap. */
export type Kind = 0 | 1;
export const FIRST: Kind = 0;
export const RETRY: Kind = 1;
export const KINDS: readonly Kind[] = [FIRST, RETRY];

export const otherKind = (kind: Kind): Kind => (kind === FIRST ? RETRY : FIRST);

/** Of every cap, this much at most is for retries; what is left waits for first attempts. */
const RETRY_SHARE = 0.75;

/** How much of a cap is in use. */
export class ConcurrencyLimit {
  private first = 0;
  private retries = 0;
  private currentLimit = 0;
  private retryLimit = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get limit(): number {
    return this.currentLimit;
  }

  /** What is in use over a lowered limit ends in its own time. */
  set limit(limit: number) {
    this.currentLimit = limit;
    this.retryLimit = Math.max(1, Math.floor(limit * RETRY_SHARE));
  }

  get active(): number {
    return this.first + this.retries;
  }

  allows(kind: Kind): boolean {
    return this.active < this.currentLimit && (kind === FIRST || this.retries < this.retryLimit);
  }

  take(kind: Kind): void {
    if (kind === FIRST) this.first += 1;
    else this.retries += 1;
  }

  release(kind: Kind): void {
    if (kind === FIRST) this.first -= 1;
    else this.retries -= 1;
  }
}
