import type { Logger } from '@rmm/service-kit';
import type { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import type { OpenDeliveriesRepository } from '../sending/open-deliveries.repository.js';
import type { OutcomeBatcherService } from '../sending/outcome-batcher.service.js';
import type { QueuedDelivery } from '../sending/queued-delivery.js';
import { DEFAULT_RETRY_POLICY } from '../sending/retry-delay.js';
import type { RetrySchedulerService } from '../sending/retry-scheduler.service.js';
import type { SenderService } from '../sending/sender.service.js';
import type { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import type { Subscriber } from '../subscriptions/subscription.mapper.js';
import { FanOutWriterService } from './fan-out-writer.service.js';
import type { EventResult, IncomingEvent } from './webhook-event.mapper.js';

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
      { match, countSubscribers: () => webhooks } as unknown as SubscriptionIndexService,
      { owns: () => isOwner } as unknown as PartitionLeaseManagerService,
      { findStored: () => Promise.resolve(known) } as unknown as OpenDeliveriesRepository,
      sender as unknown as SenderService,
      { isFull: false } as OutcomeBatcherService,
      { mustWait: ({ webhookId }: QueuedDelivery) => hasDue(webhookId) } as unknown as RetrySchedulerService,
      { error: () => undefined } as unknown as Logger,
    );
    writer.start();
  });

  afterEach(() => writer.stop());

  let count = 0;
  const accept = (orgId = 'o', changes: Partial<IncomingEvent> = {}) => {
    const event = {
      eventId: `e${(count += 1)}`,
      eventType: 'device.online',
      createdMs: AT.getTime(),
      orgId,
      partition: 1,
    };
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

  it.each([
    ['few webhooks and large bodies', 1, 'x'.repeat(240_000)],
    ['many webhooks and small bodies', 50, '{}'],
  ])('starts events in turns by bytes next to an organization with %s', async (_, noisyWebhooks, body) => {
    webhooks = noisyWebhooks;
    for (let i = 0; i < 500; i += 1) accept('noisy', { body });
    const noisy = sent.length;
    expect(noisy).toBeLessThanOrEqual(1_024);
    webhooks = 1;
    for (let i = 0; i < 8; i += 1) accept('quiet');
    // Nothing of the noisy organization has ended: the quiet one has its own share.
    expect(sent.filter(({ orgId }) => orgId === 'quiet')).toHaveLength(8);
    await end(sent.filter(({ orgId }) => orgId === 'quiet'));
    expect(sent).toHaveLength(noisy + 8);
  });

  it('looks up a repeated event before it sends', async () => {
    const first = accept('o', { eventId: 'same' });
    await end(sent);
    known = new Set(sent.map(({ id }) => id));
    const again = accept('o', { eventId: 'same', createdMs: AT.getTime() + 5_000 });
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
