import { Injectable } from '@nestjs/common';
import type { BroadcastMap } from '@rmm/contracts';
import { Broadcasts, type BroadcastSubscription, NatsLink } from '@rmm/messaging';
import { Clock } from '@rmm/service-kit';
import { InvalidationFeed } from './invalidation-feed.js';

/**
 * Cached access is refused after this time without a heartbeat. With the delay at which publishers stop, the time limit
 * of their check and one heartbeat interval it stays below 30 seconds.
 * @see docs/reference/authorization.md#freshness
 */
export const MAX_SILENCE_MS = 22_000;

/** `access`: users and partners, of identity. `credentials`: keys. `organizations`: organizations, of provisioning. */
export const FEEDS = ['access', 'credentials', 'organizations'] as const;
export type FeedName = (typeof FEEDS)[number];

const HEARTBEATS = {
  access: 'access.heartbeat',
  credentials: 'credential.heartbeat',
  organizations: 'organization.heartbeat',
} as const satisfies Record<FeedName, keyof BroadcastMap>;

/** The invalidation feeds of a service, one for each service that owns what others cache. */
@Injectable()
export class InvalidationFeeds {
  readonly access: InvalidationFeed;
  readonly credentials: InvalidationFeed;
  readonly organizations: InvalidationFeed;
  private readonly subscriptions: BroadcastSubscription[] = [];
  private readonly gapListeners: ((feed: FeedName) => void)[] = [];

  constructor(
    private readonly broadcasts: Broadcasts,
    private readonly link: NatsLink,
    clock: Clock,
  ) {
    const feed = (name: FeedName) =>
      new InvalidationFeed({ clock, maxSilenceMs: MAX_SILENCE_MS, onGap: () => this.notifyGap(name) });
    this.access = feed('access');
    this.credentials = feed('credentials');
    this.organizations = feed('organizations');
  }

  /** Adds a listener that drops cached values when an invalidation of a feed may have been missed. */
  onGap(listener: (feed: FeedName) => void): void {
    this.gapListeners.push(listener);
  }

  /** Subscribes to the heartbeats of all feeds. A reconnect counts as a gap of each. */
  start(): void {
    for (const name of FEEDS) this.subscribe(HEARTBEATS[name], (heartbeat) => this[name].onHeartbeat(heartbeat));
    this.link.onReconnect(() => FEEDS.forEach((name) => this.notifyGap(name)));
  }

  /** Calls the handler with the data of each broadcast of a topic and the time it was published at, until `stop`. */
  subscribe<Topic extends keyof BroadcastMap>(
    topic: Topic,
    handler: (data: BroadcastMap[Topic], publishedAt: Date) => void,
  ): void {
    this.subscriptions.push(
      this.broadcasts.subscribe(topic, ({ data, timestamp }) => handler(data, new Date(timestamp))),
    );
  }

  stop(): void {
    for (const subscription of this.subscriptions.splice(0)) subscription.unsubscribe();
  }

  private notifyGap(feed: FeedName): void {
    for (const listener of this.gapListeners) listener(feed);
  }
}
