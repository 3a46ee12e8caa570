import type { BroadcastMap, BroadcastTopic } from '@rmm/contracts';
import type { Broadcasts, BroadcastSubscription, NatsLink } from '@rmm/messaging';
import type { Clock } from '@rmm/service-kit';
import { CREDENTIAL_HEARTBEAT } from './heartbeat-publisher.js';
import { InvalidationFeed } from './invalidation-feed.js';

/** Half a minute: the promise of CONTRACT.md 2.4. */
export const MAX_SILENCE_MS = 30_000;

/** The two invalidation feeds a service listens to: changes of people's access, and changes of keys. */
export class AccessFeeds {
  readonly access: InvalidationFeed;
  readonly credentials: InvalidationFeed;
  private readonly subscriptions: BroadcastSubscription[] = [];
  private readonly forgetful: (() => void)[] = [];

  constructor(
    private readonly broadcasts: Pick<Broadcasts, 'subscribe'>,
    clock: Clock,
  ) {
    const options = { clock, maxSilenceMs: MAX_SILENCE_MS, onGap: () => this.forget() };
    this.access = new InvalidationFeed(options);
    this.credentials = new InvalidationFeed(options);
  }

  /** What is to be forgotten when something may have been missed. */
  onGap(forget: () => void): void {
    this.forgetful.push(forget);
  }

  /** Hears heartbeats; and after the connection was gone for a moment, trusts nothing it kept. */
  start(link: Pick<NatsLink, 'onReconnect'>): void {
    this.hear('access.heartbeat', (beat) => this.access.heard(beat));
    this.hear(CREDENTIAL_HEARTBEAT, (beat) => this.credentials.heard(beat));
    link.onReconnect(() => this.forget());
  }

  hear<Topic extends BroadcastTopic>(topic: Topic, handler: (data: BroadcastMap[Topic]) => void): void {
    this.subscriptions.push(this.broadcasts.subscribe(topic, (envelope) => handler(envelope.data)));
  }

  stop(): void {
    for (const subscription of this.subscriptions.splice(0)) subscription.unsubscribe();
  }

  private forget(): void {
    for (const forget of this.forgetful) forget();
  }
}
