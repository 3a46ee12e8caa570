import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Envelope } from '@rmm/contracts';
import { eventually } from '@rmm/testing-services';
import { startMessagingTestApp, type MessagingTestApp } from '../../test/messaging-test-app.js';
import { DeadLetterMessagesRepository, DeadLetterMessagesService, EventBatches, type BatchMessage } from '../index.js';

describe('EventBatches', () => {
  let testApp: MessagingTestApp;
  let app: INestApplication;
  const orgId = randomUUID();

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    app = await testApp.startService();
  });
  afterAll(() => testApp.stop(), 30_000);

  async function publish(count: number, type = 'device.online'): Promise<string[]> {
    const ids: string[] = [];
    for (let i = 0; i < count; i++) {
      const id = randomUUID();
      const body = { id, type, timestamp: new Date().toISOString(), orgId, partnerId: null, data: { i } };
      await testApp.connection.jetstream().publish(`rmm.events.${orgId}.${type}`, JSON.stringify(body));
      ids.push(id);
    }
    return ids;
  }
  const unsettled = async (durable: string) => {
    const manager = await testApp.connection.jetstreamManager();
    const { num_pending, num_ack_pending } = await manager.consumers.info('RMM_EVENTS', durable);
    return num_pending + num_ack_pending;
  };
  const subscribe = (durable: string, type: string, handler: (batch: BatchMessage[]) => Promise<void>) =>
    app.get(EventBatches).subscribe(
      {
        stream: 'events',
        durable,
        subjects: [`rmm.events.*.${type}`],
        maxMessages: 10,
        lingerMs: 30,
        policy: { maxDeliveries: 3, backoffMs: [10] },
      },
      handler,
    );

  it('passes full batches in the order of the stream, one at a time, and an incomplete one after the linger time', async () => {
    const ids = await publish(25);
    const batches: Envelope[][] = [];
    let open = 0;
    const subscription = subscribe('batches-a', 'device.online', async (batch) => {
      expect(++open).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 10));
      batches.push(batch.map(({ envelope }) => envelope));
      open -= 1;
    });
    await eventually(() => expect(batches.flat().map(({ id }) => id)).toEqual(ids));
    expect(Math.max(...batches.map(({ length }) => length))).toBe(10);
    await eventually(async () => expect(await unsettled('batches-a')).toBe(0));
    await subscription.stop();
  });

  it('acknowledges, redelivers and terminates single messages of a batch', async () => {
    const [acked, naked, termed] = await publish(3, 'device.offline');
    const deliveries: Record<string, number[]> = {};
    const subscription = subscribe('batches-b', 'device.offline', async (batch) => {
      for (const message of batch) {
        (deliveries[message.envelope.id] ??= []).push(message.deliveries);
        if (message.envelope.id === naked && message.deliveries === 1) message.nak();
        else if (message.envelope.id === termed) message.term('unwanted');
        else message.ack();
      }
      throw new Error('settled messages stay settled');
    });
    await eventually(() => expect(deliveries).toEqual({ [acked]: [1], [naked]: [1, 2], [termed]: [1] }));
    await eventually(async () => expect(await unsettled('batches-b')).toBe(0));
    await subscription.stop();
  });

  it('dead-letters a message that keeps failing, and replays it as a batch of one', async () => {
    const [id] = await publish(1, 'device.updated');
    let broken = true;
    const handled: string[] = [];
    const subscription = subscribe('batches-c', 'device.updated', async (batch) => {
      if (broken) throw new Error('no');
      handled.push(...batch.map(({ envelope }) => envelope.id));
    });
    const deadLetters = app.get(DeadLetterMessagesRepository);
    await eventually(async () => expect(await deadLetters.count()).toBe(1));
    broken = false;
    const replayed = await app.get(DeadLetterMessagesService).replay({ consumer: 'batches-c' });
    expect(replayed).toEqual({ replayed: 1, failed: 0, left: 0 });
    expect(handled).toEqual([id]);
    await subscription.stop();
  });

  it('handles as many batches at a time as configured and waits for them when it stops', async () => {
    const ids = await publish(50, 'device.renamed');
    const seen: string[] = [];
    let open = 0;
    let most = 0;
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const subscription = app.get(EventBatches).subscribe(
      {
        stream: 'events',
        durable: 'batches-d',
        subjects: ['rmm.events.*.device.renamed'],
        maxMessages: 10,
        lingerMs: 5,
        concurrency: 3,
      },
      async (batch) => {
        open += 1;
        most = Math.max(most, open);
        await gate;
        seen.push(...batch.map(({ envelope }) => envelope.id));
        open -= 1;
      },
    );
    await eventually(() => expect(open).toBe(3));
    release();
    await eventually(() => expect([...seen].sort()).toEqual([...ids].sort()));
    expect(most).toBe(3);
    await eventually(async () => expect(await unsettled('batches-d')).toBe(0));
    await subscription.stop();
    expect(open).toBe(0);
  });

  it('releases messages without a dead letter when the handler fails while it stops', async () => {
    const [id] = await publish(1, 'device.moved');
    let refuse: ((reason: Error) => void) | undefined;
    const handled: string[] = [];
    const first = app.get(EventBatches).subscribe(
      {
        stream: 'events',
        durable: 'batches-e',
        subjects: ['rmm.events.*.device.moved'],
        maxMessages: 10,
        lingerMs: 5,
        policy: { maxDeliveries: 1, backoffMs: [60_000] },
      },
      () => new Promise((_, reject) => (refuse = reject)),
    );
    await eventually(() => expect(refuse).toBeDefined());
    const stopped = first.stop();
    refuse?.(new Error('not now'));
    await stopped;
    const second = subscribe('batches-e', 'device.moved', async (batch) => {
      handled.push(...batch.map(({ envelope }) => envelope.id));
    });
    await eventually(() => expect(handled).toEqual([id]));
    await second.stop();
  });
});
