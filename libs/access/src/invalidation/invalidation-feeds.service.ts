import { Injectable } from '@nestjs/common';
import type { BroadcastMap } from '@rmm/contracts';
import { Broadcasts, type BroadcastSubscription, type NatsLink } from '@rmm/messaging';
import { Clock } from '@rmm/service-kit';
import { InvalidationFeed } from './invalidation-feed.js';

/** Cached access is refused after this time without a heartbeat. */
export const MAX_SILENCE_MS = 30_000;

/** The two invalidation feeds of a service: `access` for changes of users, `credentials` for changes of keys. */
@Injectable()
export class InvalidationFeeds {
  readonly access: InvalidationFeed;
  readonly credentials: InvalidationFeed;
  private readonly subscriptions: BroadcastSubscription[] = [];
  private readonly gapListeners: (() => void)[] = [];

  constructor(
    private readonly broadcasts: Broadcasts,
    clock: Clock,
  ) {
    const options = { clock, maxSilenceMs: MAX_SILENCE_MS, onGap: () => this.notifyGap() };
    this.access = new InvalidationFeed(options);
    this.credentials = new InvalidationFeed(options);
  }

  /** Adds a listener that drops cached values when an invalidation may have been missed. */
  onGap(listener: () => void): void {
    this.gapListeners.push(listener);
  }

  /** Subscribes to the heartbeats of both feeds. A reconnect counts as a gap. */
  start(link: Pick<NatsLink, 'onReconnect'>): void {
    this.subscribe('access.heartbeat', (heartbeat) => this.access.onHeartbeat(heartbeat));
    this.subscribe('credential.heartbeat', (heartbeat) => this.credentials.onHeartbeat(heartbeat));
    link.onReconnect(() => this.notifyGap());
  }

  /** Calls the handler with the data of each broadcast of a topic, until `stop`. */
  subscribe<Topic extends keyof BroadcastMap>(topic: Topic, handler: (data: BroadcastMap[Topic]) => void): void {
    this.subscriptions.push(this.broadcasts.subscribe(topic, ({ data }) => handler(data)));
  }

  stop(): void {
    for (const subscription of this.subscriptions.splice(0)) subscription.unsubscribe();
  }

  private notifyGap(): void {
    for (const listener of this.gapListeners) listener();
  }
}
