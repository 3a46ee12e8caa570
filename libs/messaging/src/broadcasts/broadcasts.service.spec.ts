import type { INestApplication } from '@nestjs/common';
import { subjects } from '@rmm/contracts';
import { currentContext } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { startMessagingTestApp, type MessagingTestApp } from '../../test/messaging-test-app.js';
import { NatsLink } from '../connection/nats-link.service.js';
import { Broadcasts, type BroadcastSubscription } from './broadcasts.service.js';

describe('Broadcasts', () => {
  let testApp: MessagingTestApp;
  let app: INestApplication;
  let broadcasts: Broadcasts;
  let subscriptions: BroadcastSubscription[];

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    app = await testApp.startService();
    broadcasts = app.get(Broadcasts);
  });
  beforeEach(() => (subscriptions = []));
  afterEach(() => subscriptions.forEach((subscription) => subscription.unsubscribe()));
  afterAll(() => testApp.stop(), 30_000);

  const collect = (through: INestApplication = app, onReceived: () => void = () => undefined) => {
    const received: string[] = [];
    const subscription = through.get(Broadcasts).subscribe('webhook.partitions', ({ data }) => {
      received.push(data.from);
      onReceived();
    });
    subscriptions.push(subscription);
    return received;
  };
  const publish = (from: string) => broadcasts.publishNow('webhook.partitions', { from });

  it('reach every replica, the sender included, until the subscription ends', async () => {
    const other = await testApp.startService();
    const [here, there] = [collect(), collect(other)];
    await other.get(NatsLink).connection.flush();
    publish('a');
    await eventually(() => expect([here, there]).toEqual([['a'], ['a']]));
    subscriptions[1].unsubscribe();
    publish('b');
    await eventually(() => expect(here).toEqual(['a', 'b']));
    await other.get(NatsLink).connection.flush();
    expect(there).toEqual(['a']);
  });

  it('run the handler in a context of its own', async () => {
    const ids: (string | undefined)[] = [];
    collect(app, () => ids.push(currentContext()?.requestId));
    publish('a');
    publish('b');
    await eventually(() => expect(ids).toHaveLength(2));
    expect(ids.every((id) => id !== undefined)).toBe(true);
    expect(new Set(ids).size).toBe(2);
  });

  it('continue after a malformed one and after a handler that throws', async () => {
    const received = collect(app, () => {
      if (received.length === 1) throw new Error('once');
    });
    testApp.connection.publish(subjects.broadcast('webhook.partitions'), '{ not json');
    testApp.connection.publish(subjects.broadcast('webhook.partitions'), JSON.stringify({ from: 'no envelope' }));
    await testApp.connection.flush();
    publish('a');
    publish('b');
    await eventually(() => expect(received).toEqual(['a', 'b']));
  });

  it('are dropped while NATS is away and received again afterwards', async () => {
    const received = collect();
    await testApp.nats.kill();
    await eventually(() => expect(app.get(NatsLink).isConnected).toBe(false));
    expect(() => publish('late')).not.toThrow();
    await testApp.nats.start();
    await eventually(() => expect(app.get(NatsLink).isConnected).toBe(true));
    publish('now');
    await eventually(() => expect(received).toEqual(['now']));
  });
});
