import { Injectable } from '@nestjs/common';
import { OutboundFailed, OutboundTimeout, UnsafeAddress } from '@rmm/outbound';
import { DispatcherConfig } from '../../config.js';

/** So many slow attempts in a row open the breaker of an origin. */
const SLOW_IN_A_ROW = 10;
/** An answer that takes longer is as bad as none, in milliseconds. */
const SLOW_MS = 10_000;
/** While it is open: one attempt at a time, until one is quick. */
const OPEN_LIMIT = 1;
/** And between two of them so long, milliseconds: a refusal comes at once, and thousands wait for their turn to hear it. */
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
 * One breaker per origin. It knows nothing of what is answered: a receiver that fails quickly costs nobody a slot. An
 * origin has one owner among the replicas, so its breaker holds for all of them; with the owner it begins anew.
 * @see CONTRACT.md 4.9, Isolation
 */
@Injectable()
export class BreakersService {
  /** Slow attempts in a row. Origins that are well are not in it. */
  private readonly slow = new Map<string, number>();
  private changed: (origin: string, limit: number) => void = () => undefined;
  private openCount = 0;

  constructor(private readonly config: DispatcherConfig) {}

  /** How many are open. */
  get open(): number {
    return this.openCount;
  }

  listen(changed: (origin: string, limit: number) => void): void {
    this.changed = changed;
  }

  /** Attempts at a time that an origin may get now. */
  limitOf(origin: string): number {
    return this.isOpen(this.slow.get(origin)) ? OPEN_LIMIT : this.config.originConcurrency;
  }

  /** How long to wait between two attempts at an origin, in milliseconds. */
  pauseMs(origin: string): number {
    return this.openCount > 0 && this.isOpen(this.slow.get(origin)) ? OPEN_PAUSE_MS : 0;
  }

  /** An attempt has been answered. */
  answered(origin: string, tookMs: number): void {
    if (tookMs > SLOW_MS) this.isSlow(origin);
    else if (this.slow.size > 0) this.isQuick(origin);
  }

  /** An attempt has not been answered. */
  failed(origin: string, error: unknown, tookMs: number): void {
    const isSlow = isNoConnection(error);
    if (isSlow) this.isSlow(origin);
    else if (isSlow === false) this.answered(origin, tookMs);
  }

  /** Origins that are somebody else's now. */
  forget(concerns: (origin: string) => boolean): void {
    for (const [origin, slow] of this.slow) {
      if (!concerns(origin)) continue;
      if (this.isOpen(slow)) this.openCount -= 1;
      this.slow.delete(origin);
    }
  }

  private isOpen(slow: number | undefined): boolean {
    return slow !== undefined && slow >= SLOW_IN_A_ROW;
  }

  private isSlow(origin: string): void {
    const slow = (this.slow.get(origin) ?? 0) + 1;
    this.slow.set(origin, slow);
    if (slow !== SLOW_IN_A_ROW) return;
    this.openCount += 1;
    this.changed(origin, OPEN_LIMIT);
  }

  private isQuick(origin: string): void {
    const slow = this.slow.get(origin);
    if (slow === undefined) return;
    this.slow.delete(origin);
    if (!this.isOpen(slow)) return;
    this.openCount -= 1;
    this.changed(origin, this.config.originConcurrency);
  }
}

/** @returns null when it says nothing about the origin: what may not be called was not called */
function isNoConnection(error: unknown): boolean | null {
  // A name without an answer has a cause; a forbidden address has none.
  if (error instanceof UnsafeAddress) return error.cause === undefined ? null : true;
  if (error instanceof OutboundTimeout) return true;
  return (
    error instanceof OutboundFailed && error.code !== null && (NO_CONNECTION.has(error.code) || TLS.test(error.code))
  );
}
