import type { AccessHeartbeat } from '@rmm/contracts';
import { type Clock, UnavailableError } from '@rmm/service-kit';

export interface InvalidationFeedOptions {
  clock: Clock;
  /** Cached values are not used after this time without a heartbeat. */
  maxSilenceMs: number;
  /** Called when an invalidation may have been missed; must drop everything cached. */
  onGap: () => void;
}

interface Publisher {
  sequence: number;
  receivedAtMs: number;
}

/** Heartbeats that may be missing before the first one of a new publisher counts as a gap. */
const TOLERATED_MISSES = 3;
/** A publisher without heartbeats for this long is removed. */
const REMOVE_AFTER_MS = 120_000;

/**
 * Tracks the numbered heartbeats that are published on the same connection as the invalidations. Consecutive numbers of
 * a publisher mean that nothing was lost; a missing number means that an invalidation may have been lost too.
 */
export class InvalidationFeed {
  private readonly publishers = new Map<string, Publisher>();
  private lastReceivedMs: number;

  constructor(private readonly options: InvalidationFeedOptions) {
    this.lastReceivedMs = options.clock.monotonicMs();
  }

  /** Records one heartbeat and calls `onGap` when its number does not follow the previous one. */
  onHeartbeat({ publisher, sequence, intervalMs }: AccessHeartbeat): void {
    const now = this.options.clock.monotonicMs();
    const known = this.publishers.get(publisher);
    const silentMs = now - this.lastReceivedMs;
    const gap = known ? sequence !== known.sequence + 1 : sequence !== 1 || silentMs > TOLERATED_MISSES * intervalMs;
    this.publishers.set(publisher, { sequence, receivedAtMs: now });
    this.lastReceivedMs = now;
    this.removeSilentPublishers(now);
    if (gap) this.options.onGap();
  }

  /** Time since the last heartbeat, or since the start. */
  get silenceMs(): number {
    return this.options.clock.monotonicMs() - this.lastReceivedMs;
  }

  /** False when no heartbeat was received for longer than allowed. */
  get alive(): boolean {
    return this.silenceMs <= this.options.maxSilenceMs;
  }

  /** @throws UnavailableError  503 while the feed is silent, because a change of access might not have arrived */
  assertAlive(): void {
    if (!this.alive) throw new UnavailableError(undefined, { logDetails: { reason: 'invalidation feed is silent' } });
  }

  private removeSilentPublishers(now: number): void {
    for (const [id, { receivedAtMs }] of this.publishers) {
      if (now - receivedAtMs > REMOVE_AFTER_MS) this.publishers.delete(id);
    }
  }
}
