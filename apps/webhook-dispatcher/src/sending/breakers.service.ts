import { Inject, Injectable } from '@nestjs/common';
import { OutboundFailed, OutboundTimeout, UnsafeAddress } from '@rmm/outbound';
import { DISPATCHER_CONFIG, type DispatcherConfig } from '../config.js';

/** The number of slow attempts in a row that opens the breaker of a webhook. */
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
 * A circuit breaker for each webhook. The status of a response does not count: a receiver that fails quickly uses little
 * capacity. A new owner of the webhook starts with a closed breaker.
 * @see docs/reference/webhooks.md
 */
@Injectable()
export class BreakersService {
  /** Slow attempts in a row, of webhooks that have any. */
  private readonly slow = new Map<string, number>();
  private onLimitChanged: (webhookId: string, limit: number) => void = () => undefined;
  private openCount = 0;

  constructor(@Inject(DISPATCHER_CONFIG) private readonly config: DispatcherConfig) {}

  /** The number of open breakers. */
  get openBreakers(): number {
    return this.openCount;
  }

  subscribe(onLimitChanged: (webhookId: string, limit: number) => void): void {
    this.onLimitChanged = onLimitChanged;
  }

  /** Returns whether a webhook gets one attempt at a time. */
  isOpen(webhookId: string): boolean {
    return (this.slow.get(webhookId) ?? 0) >= SLOW_IN_A_ROW;
  }

  /** Returns the pause between two attempts of a webhook in milliseconds. */
  pauseMs(webhookId: string): number {
    return this.openCount > 0 && this.isOpen(webhookId) ? OPEN_PAUSE_MS : 0;
  }

  /** Records a response. */
  recordResponse(webhookId: string, durationMs: number): void {
    if (durationMs > SLOW_MS) this.recordSlow(webhookId);
    else if (this.slow.size > 0) this.recordQuick(webhookId);
  }

  /** Records an attempt without a response. */
  recordFailure(webhookId: string, error: unknown, durationMs: number): void {
    const isSlow = isConnectionFailure(error);
    if (isSlow) this.recordSlow(webhookId);
    else if (isSlow === false) this.recordResponse(webhookId, durationMs);
  }

  /** Forgets the breakers of webhooks that were deleted or that another replica owns now. */
  remove(isIncluded: (webhookId: string) => boolean): void {
    for (const webhookId of [...this.slow.keys()]) if (isIncluded(webhookId)) this.recordQuick(webhookId);
  }

  private recordSlow(webhookId: string): void {
    const slow = (this.slow.get(webhookId) ?? 0) + 1;
    this.slow.set(webhookId, slow);
    if (slow !== SLOW_IN_A_ROW) return;
    this.openCount += 1;
    this.onLimitChanged(webhookId, OPEN_LIMIT);
  }

  private recordQuick(webhookId: string): void {
    const wasOpen = this.isOpen(webhookId);
    if (!this.slow.delete(webhookId) || !wasOpen) return;
    this.openCount -= 1;
    this.onLimitChanged(webhookId, this.config.webhookConcurrency);
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
