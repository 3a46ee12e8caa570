import { randomUUID } from 'node:crypto';
import { Broadcasts, NatsLink } from '@rmm/messaging';
import { UnavailableError } from '@rmm/service-kit';
import { eventually, FixedClock, startStores, type Stores, type TestNats } from '@rmm/testing-services';
import { type FeedName, FEEDS, InvalidationFeeds, MAX_SILENCE_MS } from './invalidation-feeds.service.js';

describe('InvalidationFeeds', () => {
  let stores: Stores;
  let nats: TestNats;
  let link: NatsLink;
  let broadcasts: Broadcasts;
  let clock: FixedClock;
  let feeds: InvalidationFeeds;
  let gaps: FeedName[];

  beforeAll(async () => {
    stores = await startStores();
    nats = await stores.nats();
    link = new NatsLink({ url: nats.url, name: 'provisioning' });
    await link.open();
    broadcasts = new Broadcasts(link);
  });
  afterAll(async () => {
    await link.close();
    await stores.stop();
  });
  beforeEach(async () => {
    clock = new FixedClock();
    const found: FeedName[] = [];
    gaps = found;
    feeds = new InvalidationFeeds(broadcasts, link, clock);
    feeds.onGap((feed) => found.push(feed));
    feeds.start();
    await link.connection.flush();
  });
  afterEach(() => feeds.stop());

  const sendHeartbeat = (topic: 'access.heartbeat' | 'organization.heartbeat', publisher: string, sequence: number) =>
    broadcasts.publishNow(topic, { publisher, sequence, intervalMs: 1_000 });

  it('keeps the feed alive whose heartbeat arrives, and no other', async () => {
    const publisher = randomUUID();
    clock.advance(MAX_SILENCE_MS);
    sendHeartbeat('organization.heartbeat', publisher, 1);
    await link.connection.flush();
    clock.advance(1);
    await eventually(() => expect(() => feeds.organizations.assertAlive()).not.toThrow());
    for (const feed of [feeds.access, feeds.credentials]) expect(() => feed.assertAlive()).toThrow(UnavailableError);
  });

  it('names the feed of a heartbeat that was missed', async () => {
    const publisher = randomUUID();
    sendHeartbeat('access.heartbeat', publisher, 1);
    sendHeartbeat('access.heartbeat', publisher, 3);
    await eventually(() => expect(gaps).toEqual(['access']));
  });

  it('passes the data of broadcasts to subscribers until it stops', async () => {
    const received: unknown[] = [];
    feeds.subscribe('access.changed', (change) => received.push(change));
    await link.connection.flush();
    broadcasts.publishNow('access.changed', { userIds: ['u'], reason: 'spec' });
    await eventually(() => expect(received).toEqual([{ userIds: ['u'], reason: 'spec' }]));
    feeds.stop();
    broadcasts.publishNow('access.changed', { userIds: ['v'], reason: 'spec' });
    await link.connection.flush();
    expect(received).toHaveLength(1);
  });

  it('reports a gap of every feed after a reconnect', async () => {
    await nats.kill();
    await nats.start();
    await eventually(() => expect(gaps).toEqual([...FEEDS]));
  });
});
