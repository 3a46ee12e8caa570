import type { AccessHeartbeat } from '@rmm/contracts';
import { type Clock, UnavailableError } from '@rmm/service-kit';

export interface InvalidationFeedOptions {
  clock: Clock;
  /** After so long without a heartbeat nothing cached may be trusted. */
  maxSilenceMs: number;
  /** Something may have been missed: forget everything cached. */
  onGap: () => void;
}

interface Publisher {
  sequence: number;
  heardAtMs: number;
}

/** Heartbeats that may stay out before a first one from somebody new counts as a gap. */
const TOLERATED_MISSES = 3;
/** A publisher unheard for so long has gone. */
const FORGET_AFTER_MS = 120_000;

/**
 * Watches the numbered heartbeats that travel beside invalidations. As long as the numbers of a publisher follow each
 * other nothing was lost on the way; a hole means that an invalidation may have been lost too.
 */
export class InvalidationFeed {
  private readonly publishers = new Map<string, Publisher>();
  private lastHeardMs: number;

  constructor(private readonly options: InvalidationFeedOptions) {
    this.lastHeardMs = options.clock.nowMs();
  }

  /** Takes in one heartbeat. */
  heard({ publisher, sequence, intervalMs }: AccessHeartbeat): void {
    const now = this.options.clock.nowMs();
    const known = this.publishers.get(publisher);
    const silentMs = now - this.lastHeardMs;
    const gap = known ? sequence !== known.sequence + 1 : sequence !== 1 || silentMs > TOLERATED_MISSES * intervalMs;
    this.publishers.set(publisher, { sequence, heardAtMs: now });
    this.lastHeardMs = now;
    this.forgetTheGone(now);
    if (gap) this.options.onGap();
  }

  /** False once nothing was heard for longer than allowed. */
  get alive(): boolean {
    return this.options.clock.nowMs() - this.lastHeardMs <= this.options.maxSilenceMs;
  }

  /** @throws UnavailableError  503 while the feed is silent: a change of rights might not have reached us */
  assertAlive(): void {
    if (!this.alive) throw new UnavailableError(undefined, { logDetails: { reason: 'invalidation feed is silent' } });
  }

  private forgetTheGone(now: number): void {
    for (const [id, { heardAtMs }] of this.publishers) {
      if (now - heardAtMs > FORGET_AFTER_MS) this.publishers.delete(id);
    }
  }
}
