import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { AccessHeartbeat } from '@rmm/contracts';
import type { Broadcasts } from '@rmm/messaging';

export const HEARTBEAT_INTERVAL_MS = 1_000;
/** No heartbeat is published while an invalidation has waited longer than this. */
export const MAX_INVALIDATION_DELAY_MS = 4_000;
/** A check of the delay that takes longer counts as failed, because its result describes the past. */
export const MAX_CHECK_MS = 2_000;

export type HeartbeatTopic = 'access.heartbeat' | 'credential.heartbeat' | 'organization.heartbeat';

/**
 * Publishes the numbered heartbeats of one invalidation feed. The number also increases when no heartbeat is published
 * (NATS is unavailable, or invalidations are delayed), so that subscribers detect the gap and drop what they cached.
 */
export class HeartbeatPublisher implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly publisher = randomUUID();
  private sequence = 0;
  private timer?: NodeJS.Timeout;
  private publishing?: Promise<void>;

  /**
   * @param topic  the topic of the feed
   * @param oldestInvalidationMs  returns the age of the oldest invalidation that is not sent
   */
  constructor(
    private readonly broadcasts: Pick<Broadcasts, 'publishNow'>,
    private readonly topic: HeartbeatTopic,
    private readonly oldestInvalidationMs: () => Promise<number> = () => Promise.resolve(0),
  ) {}

  /** Has a timer of its own: a job of the scheduler would run only after an interval, and not in tools without it. */
  onApplicationBootstrap(): void {
    this.timer ??= setInterval(() => void this.publishHeartbeat(), HEARTBEAT_INTERVAL_MS).unref();
    void this.publishHeartbeat();
  }

  beforeApplicationShutdown(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Skips a number, because an invalidation may have been lost on this side; every subscriber drops what it cached. */
  skipNumber(): void {
    this.sequence += 1;
  }

  /** Publishes one heartbeat. Returns the running call while the check of an earlier one still runs. */
  publishHeartbeat(): Promise<void> {
    this.publishing ??= this.publishNext().finally(() => (this.publishing = undefined));
    return this.publishing;
  }

  private async publishNext(): Promise<void> {
    const sequence = ++this.sequence;
    const startedMs = performance.now();
    const delayMs = await this.oldestInvalidationMs().catch(() => Infinity);
    if (delayMs > MAX_INVALIDATION_DELAY_MS || performance.now() - startedMs > MAX_CHECK_MS) return;
    const heartbeat: AccessHeartbeat = { publisher: this.publisher, sequence, intervalMs: HEARTBEAT_INTERVAL_MS };
    this.broadcasts.publishNow(this.topic, heartbeat);
  }
}
