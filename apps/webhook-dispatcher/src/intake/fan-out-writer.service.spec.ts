import type { Logger } from '@rmm/service-kit';
import type { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import type { QueuedDelivery } from '../sending/delivery.types.js';
import type { OutcomeBatcherService } from '../sending/outcome-batcher.service.js';
import { DEFAULT_RETRY_POLICY } from '../sending/retry-delay.js';
import type { RetrySchedulerService } from '../sending/retry-scheduler.service.js';
import type { SenderService } from '../sending/sender.service.js';
import type { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import type { Subscriber } from '../subscriptions/subscription.mapper.js';
import { FanOutWriterService } from './fan-out-writer.service.js';
import type { EventResult, IncomingEvent } from './incoming-event.js';
import type { KnownDeliveriesRepository } from './known-deliveries.repository.js';

const AT = new Date('2026-03-01T12:00:00.000Z');

describe('FanOutWriterService', () => {
  let sent: QueuedDelivery[];
  let stored: QueuedDelivery[];
  let hasRoom: (webhookId: string) => boolean;
  let hasDue: (webhookId: string) => boolean;
  let known: Set<string>;
  let isOwner: boolean;
  let webhooks: number;
  let writer: FanOutWriterService;

  beforeEach(() => {
    sent = [];
    stored = [];
    hasRoom = () => true;
    hasDue = () => false;
    known = new Set();
    isOwner = true;
    webhooks = 1;
    const match = (orgId: string): Subscriber[] =>
      Array.from({ length: webhooks }, (_, i) => ({
        webhookId: `${orgId}/${i}`,
        partnerId: 'p',
        orgId,
        partition: 1,
        types: new Set<string>(),
        retryPolicy: DEFAULT_RETRY_POLICY,
      }));
    const sender = {
      isKnown: () => false,
      add: (delivery: QueuedDelivery) => hasRoom(delivery.webhookId) && sent.push(delivery) > 0,
      store: (delivery: QueuedDelivery) => {
        if (!delivery.hasOutcome) stored.push(delivery);
        delivery.hasOutcome = true;
      },
    };
    writer = new FanOutWriterService(
      { match } as unknown as SubscriptionIndexService,
      { owns: () => isOwner } as unknown as PartitionLeaseManagerService,
      { find: () => Promise.resolve(known) } as unknown as KnownDeliveriesRepository,
      sender as unknown as SenderService,
      { isFull: false } as OutcomeBatcherService,
      { hasDue: (id: string) => hasDue(id) } as unknown as RetrySchedulerService,
      { error: () => undefined } as unknown as Logger,
    );
    writer.start();
  });

  afterEach(() => writer.stop());

  let count = 0;
  const accept = (orgId = 'o', changes: Partial<IncomingEvent> = {}) => {
    const event = { eventId: `e${(count += 1)}`, eventType: 'device.online', createdAt: AT, orgId, partition: 1 };
    const results: EventResult[] = [];
    void writer.accept({ ...event, body: '{}', isRepeated: false, ...changes }).then((result) => results.push(result));
    return results;
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const end = (deliveries: readonly QueuedDelivery[]) => {
    for (const delivery of deliveries) delivery.event?.onStored();
    return settled();
  };

  it('settles an event when all its deliveries are stored', async () => {
    webhooks = 3;
    const results = accept();
    await end(sent.slice(0, 2));
    expect(results).toEqual([]);
    await end(sent.slice(2));
    expect(results).toEqual(['stored']);
  });

  it('stores what has not ended after 200 ms as an open row', async () => {
    accept();
    expect(stored).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 280));
    expect(stored).toEqual(sent);
  });

  it('writes what has no room in memory, or would overtake deliveries in the table, to the table at once', () => {
    webhooks = 3;
    hasRoom = (id) => !id.endsWith('/0');
    hasDue = (id) => id.endsWith('/1');
    accept();
    expect(sent.map(({ webhookId }) => webhookId)).toEqual(['o/2']);
    expect(stored.map(({ webhookId }) => webhookId)).toEqual(['o/0', 'o/1']);
  });

  it('takes the event of another organization before the thousands of one that arrived earlier', async () => {
    webhooks = 20;
    for (let i = 0; i < 1_000; i += 1) accept('noisy');
    accept('quiet');
    await settled();
    expect(sent.some(({ orgId }) => orgId === 'quiet')).toBe(false);
    await end(sent.slice(0, 40));
    expect(sent.some(({ orgId }) => orgId === 'quiet')).toBe(true);
  });

  it('writes the longest queue to the table when too much waits, in events or bytes', async () => {
    webhooks = 20;
    for (let i = 0; i < 6_000; i += 1) accept('noisy');
    accept('quiet');
    expect(stored.length).toBeGreaterThan(15_000);
    expect(stored.every(({ orgId }) => orgId === 'noisy')).toBe(true);
    webhooks = 1;
    const before = stored.length;
    for (let i = 0; i < 150; i += 1) accept('large', { body: 'x'.repeat(240_000) });
    await settled();
    expect(stored.length).toBeGreaterThan(before);
  });

  it('looks up a repeated event before it sends', async () => {
    const first = accept('o', { eventId: 'same' });
    await end(sent);
    known = new Set(sent.map(({ id }) => id));
    const again = accept('o', { eventId: 'same', createdAt: new Date(AT.getTime() + 5_000) });
    const redelivered = accept('o', { eventId: 'same', isRepeated: true });
    await settled();
    expect([first, again, redelivered]).toEqual([['stored'], ['stored'], ['stored']]);
    expect(sent).toHaveLength(1);
  });

  it('sends the part of a repeated event that is not stored', async () => {
    webhooks = 2;
    accept('o', { eventId: 'twice' });
    known = new Set([sent[0]?.id ?? '']);
    const missing = sent[1]?.id;
    accept('o', { eventId: 'twice', isRepeated: true });
    await settled();
    expect(sent.slice(2).map(({ id }) => id)).toEqual([missing]);
  });

  it('refuses events of partitions of other replicas, also while they wait', async () => {
    webhooks = 1_000;
    accept('o');
    const waiting = accept('o');
    writer.drop(new Set([1]));
    await settled();
    expect(waiting).toEqual(['refused']);
    isOwner = false;
    const results = accept('o');
    await settled();
    expect(results).toEqual(['refused']);
  });

  it('settles an event as refused when one of its deliveries was', async () => {
    webhooks = 2;
    const results = accept();
    sent[0]?.event?.onRefused();
    await end(sent.slice(1));
    expect(results).toEqual(['refused']);
  });
});
