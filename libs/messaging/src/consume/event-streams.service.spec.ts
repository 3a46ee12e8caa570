import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import { startMessagingTestApp, type MessagingTestApp } from '../../test/messaging-test-app.js';
import { DeadLetterMessagesRepository, DeadLetterMessagesService, EventStreams, type StreamMessage } from '../index.js';

const BYTES = { total: 10_000_000, shared: 1_000_000 };

describe('EventStreams', () => {
  let testApp: MessagingTestApp;
  let app: INestApplication;
  const orgId = randomUUID();

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    app = await testApp.startService();
  });
  afterAll(() => testApp.stop(), 30_000);

  async function publish(count: number, type: string): Promise<string[]> {
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
  const subscribe = (durable: string, type: string, handler: (message: StreamMessage) => void, maxMessages = 1_000) =>
    app.get(EventStreams).subscribe(
      {
        stream: 'events',
        durable,
        subjects: [`rmm.events.*.${type}`],
        prefetch: 20,
        maxMessages,
        bytes: BYTES,
        policy: { maxDeliveries: 2, backoffMs: [10] },
      },
      handler,
    );

  it('passes messages on while earlier ones are not settled, up to the limit', async () => {
    const ids = await publish(30, 'device.online');
    const received: StreamMessage[] = [];
    const subscription = subscribe('streams-a', 'device.online', (message) => received.push(message), 10);
    await eventually(() => expect(received).toHaveLength(10));
    expect(await unsettled('streams-a')).toBe(30);
    expect(await subscription.countPending()).toBeLessThanOrEqual(20);
    for (const message of received.slice(5, 8)) message.ack();
    await eventually(() => expect(received).toHaveLength(13));
    for (let settled = 0; settled < 30; settled = received.length) {
      for (const message of received) message.ack();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(received.map(({ envelope }) => envelope.id)).toEqual(ids);
    for (const message of received) message.ack();
    await eventually(async () => expect(await unsettled('streams-a')).toBe(0));
    expect(JSON.parse(received[0].text)).toMatchObject({ id: ids[0], data: { i: 0 } });
    expect(Math.abs(received[0].storedAt.getTime() - Date.now())).toBeLessThan(60_000);
    await subscription.stop();
  });

  it('reads the messages of other organizations while those of one wait for their share of bytes', async () => {
    const other = randomUUID();
    const large = Array.from({ length: 30 }, () => ({ id: randomUUID(), orgId, data: { text: 'x'.repeat(50_000) } }));
    const small = { id: randomUUID(), orgId: other, data: {} };
    for (const event of [...large, small]) {
      const body = { ...event, type: 'device.moved', timestamp: new Date().toISOString(), partnerId: null };
      await testApp.connection.jetstream().publish(`rmm.events.${event.orgId}.device.moved`, JSON.stringify(body));
    }
    const received: StreamMessage[] = [];
    const subscription = app.get(EventStreams).subscribe(
      {
        stream: 'events',
        durable: 'streams-d',
        subjects: ['rmm.events.*.device.moved'],
        prefetch: 20,
        maxMessages: 1_000,
        bytes: { total: 10_000_000, shared: 250_000 },
      },
      (message) => received.push(message),
    );
    const idsOf = (orgOf: string) =>
      received.filter(({ envelope }) => envelope.orgId === orgOf).map(({ envelope }) => envelope.id);
    await eventually(() => expect(idsOf(other)).toEqual([small.id]));
    // Four messages are a share of 250 KB; none of the others is in memory.
    expect(idsOf(orgId)).toEqual(large.slice(0, idsOf(orgId).length).map(({ id }) => id));
    expect(idsOf(orgId).length).toBeLessThanOrEqual(4);
    await eventually(() => {
      for (const message of received) message.ack();
      expect(idsOf(orgId)).toEqual(large.map(({ id }) => id));
    });
    expect(received.every(({ deliveries }) => deliveries === 1)).toBe(true);
    await eventually(async () => expect(await unsettled('streams-d')).toBe(0));
    await subscription.stop();
  });

  it('leaves out messages that have left the stream, and gives back what waits when it stops', async () => {
    const ids = await publish(4, 'device.deleted');
    const manager = await testApp.connection.jetstreamManager();
    const last = (await manager.streams.info('RMM_EVENTS')).state.last_seq;
    await manager.streams.deleteMessage('RMM_EVENTS', last - 2);
    const received: StreamMessage[] = [];
    const options = {
      stream: 'events' as const,
      durable: 'streams-f',
      subjects: ['rmm.events.*.device.deleted'],
      prefetch: 20,
      maxMessages: 1_000,
      bytes: { total: 10_000_000, shared: 1 },
    };
    const subscription = app.get(EventStreams).subscribe(options, (message) => received.push(message));
    await eventually(() => expect(received).toHaveLength(1));
    await subscription.stop();
    for (const message of received) message.ack();
    const rest: string[] = [];
    const second = app.get(EventStreams).subscribe(options, (message) => {
      rest.push(message.envelope.id);
      message.ack();
    });
    await eventually(() => expect([...rest].sort()).toEqual([ids[2], ids[3]].sort()));
    expect(received.map(({ envelope }) => envelope.id)).toEqual([ids[0]]);
    await eventually(async () => expect(await unsettled('streams-f')).toBe(0));
    await second.stop();
  });

  it('redelivers what is released without counting it as failed, and terminates what is unwanted', async () => {
    const [released, unwanted] = await publish(2, 'device.offline');
    const deliveries: Record<string, number> = {};
    const subscription = subscribe('streams-b', 'device.offline', (message) => {
      const { id } = message.envelope;
      deliveries[id] = message.deliveries;
      if (id === unwanted) message.term('unwanted');
      else if (message.deliveries <= 4) message.release();
      else message.ack();
    });
    await eventually(() => expect(deliveries).toEqual({ [released]: 5, [unwanted]: 1 }));
    await eventually(async () => expect(await unsettled('streams-b')).toBe(0));
    expect(await app.get(DeadLetterMessagesRepository).count()).toBe(0);
    await subscription.stop();
  });

  it('counts failed deliveries only: a message that was released often is delivered again when it fails', async () => {
    const [id] = await publish(1, 'device.renamed');
    const deliveries: number[] = [];
    const subscription = subscribe('streams-e', 'device.renamed', (message) => {
      deliveries.push(message.deliveries);
      if (message.deliveries <= 4) message.release();
      else if (message.deliveries === 5) message.nak(new Error('once'));
      else message.ack();
    });
    await eventually(() => expect(deliveries).toEqual([1, 2, 3, 4, 5, 6]));
    await eventually(async () => expect(await unsettled('streams-e')).toBe(0));
    expect((await app.get(DeadLetterMessagesRepository).list()).filter(({ messageId }) => messageId === id)).toEqual(
      [],
    );
    await subscription.stop();
  });

  it('dead-letters a message that keeps failing, and replays it', async () => {
    const [id] = await publish(1, 'device.updated');
    let broken = true;
    const handled: string[] = [];
    const subscription = subscribe('streams-c', 'device.updated', (message) => {
      if (broken) return message.nak(new Error('no'));
      handled.push(message.envelope.id);
      message.ack();
    });
    await eventually(async () => expect(await app.get(DeadLetterMessagesRepository).count()).toBe(1));
    broken = false;
    const replayed = await app.get(DeadLetterMessagesService).replay({ consumer: 'streams-c' });
    expect(replayed).toEqual({ replayed: 1, failed: 0, left: 0 });
    expect(handled).toEqual([id]);
    await subscription.stop();
  });
});
