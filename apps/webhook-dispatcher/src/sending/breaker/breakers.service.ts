import { Injectable } from '@nestjs/common';
import { OutboundFailed, OutboundTimeout, UnsafeAddress } from '@rmm/outbound';
import { DispatcherConfig } from '../../config.js';

/** The number of slow attempts in a row that opens the breaker of an origin. */
const SLOW_IN_A_ROW = 10;
/** A response that takes longer counts as slow. */
const SLOW_MS = 10_000;
/** Attempts at a time while the breaker is open, until one is quick. */
const OPEN_LIMIT = 1;
/** Pause between attempts while the breaker is open, since a refused connection takes no time. */
const OPEN_PAUSE_MS = 100;

const NO_CONNECTION = new Set([
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const TLS = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;

/**
 * A circuit breaker for each origin. The status of a response does not count: a receiver that fails quickly uses little
 * capacity. One replica owns an origin, so its breaker applies to all of them; a new owner starts with a closed one.
 * @see docs/reference/webhooks.md
 */
@Injectable()
export class BreakersService {
  /** Slow attempts in a row, of origins that have any. */
  private readonly slow = new Map<string, number>();
  private onLimitChanged: (origin: string, limit: number) => void = () => undefined;
  private openCount = 0;

  constructor(private readonly config: DispatcherConfig) {}

  /** The number of open breakers. */
  get openBreakers(): number {
    return this.openCount;
  }

  subscribe(onLimitChanged: (origin: string, limit: number) => void): void {
    this.onLimitChanged = onLimitChanged;
  }

  /** Returns how many attempts at a time an origin may get now. */
  limitOf(origin: string): number {
    return this.isOpen(this.slow.get(origin)) ? OPEN_LIMIT : this.config.originConcurrency;
  }

  /** Returns the pause between two attempts at an origin in milliseconds. */
  pauseMs(origin: string): number {
    return this.openCount > 0 && this.isOpen(this.slow.get(origin)) ? OPEN_PAUSE_MS : 0;
  }

  /** Records a response. */
  recordResponse(origin: string, durationMs: number): void {
    if (durationMs > SLOW_MS) this.recordSlow(origin);
    else if (this.slow.size > 0) this.recordQuick(origin);
  }

  /** Records an attempt without a response. */
  recordFailure(origin: string, error: unknown, durationMs: number): void {
    const isSlow = isConnectionFailure(error);
    if (isSlow) this.recordSlow(origin);
    else if (isSlow === false) this.recordResponse(origin, durationMs);
  }

  /** Removes the breakers of origins that another replica owns now. */
  removeBreakers(isIncluded: (origin: string) => boolean): void {
    for (const [origin, slow] of this.slow) {
      if (!isIncluded(origin)) continue;
      if (this.isOpen(slow)) this.openCount -= 1;
      this.slow.delete(origin);
    }
  }

  private isOpen(slow: number | undefined): boolean {
    return slow !== undefined && slow >= SLOW_IN_A_ROW;
  }

  private recordSlow(origin: string): void {
    const slow = (this.slow.get(origin) ?? 0) + 1;
    this.slow.set(origin, slow);
    if (slow !== SLOW_IN_A_ROW) return;
    this.openCount += 1;
    this.onLimitChanged(origin, OPEN_LIMIT);
  }

  private recordQuick(origin: string): void {
    const slow = this.slow.get(origin);
    if (slow === undefined) return;
    this.slow.delete(origin);
    if (!this.isOpen(slow)) return;
    this.openCount -= 1;
    this.onLimitChanged(origin, this.config.originConcurrency);
  }
}

/** Returns null when nothing was sent, since the address is not allowed. */
function isConnectionFailure(error: unknown): boolean | null {
  // A name that does not resolve has a cause; a forbidden address has none.
  if (error instanceof UnsafeAddress) return error.cause === undefined ? null : true;
  if (error instanceof OutboundTimeout) return true;
  return (
    error instanceof OutboundFailed && error.code !== null && (NO_CONNECTION.has(error.code) || TLS.test(error.code))
  );
}
