import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { MetricsRegistry } from '@rmm/service-kit';
import { startMessagingTestApp, type MessagingTestApp } from '../../test/messaging-test-app.js';
import { DeadLetterMessagesRepository, DeadLetterMessagesService } from '../index.js';

describe('DeadLetterMessagesService', () => {
  let testApp: MessagingTestApp;
  let app: INestApplication;
  let letters: DeadLetterMessagesService;
  let consumer: string;

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    app = await testApp.startService();
    letters = app.get(DeadLetterMessagesService);
  });
  afterAll(() => testApp.stop(), 30_000);
  beforeEach(() => {
    consumer = `spec-${randomUUID()}`;
  });

  const store = (messageId: string) =>
    letters.store({ consumer, messageId, subject: 'a.b', payload: messageId, reason: 'Error: first', deliveries: 5 });
  const list = () => app.get(DeadLetterMessagesRepository).list({ consumer });

  it('handles the messages of a consumer in the order they failed, and deletes them', async () => {
    await store('one');
    await store('two');
    const handled: string[][] = [];
    letters.register(consumer, (...message) => Promise.resolve(void handled.push(message)));
    expect(await letters.replay({ consumer })).toEqual({ replayed: 2, failed: 0, left: 0 });
    expect(handled).toEqual([
      ['a.b', 'one'],
      ['a.b', 'two'],
    ]);
    expect(await list()).toEqual([]);
  });

  it('shows in the metrics how many messages are stored', async () => {
    const stored = async () => {
      const metric = app.get(MetricsRegistry).registry.getSingleMetric('rmm_dead_letter_messages');
      return (await metric?.get())?.values[0]?.value ?? 0;
    };
    const before = await stored();
    await store('one');
    expect(await stored()).toBe(before + 1);
    letters.register(consumer, () => Promise.resolve());
    await letters.replay({ consumer });
    expect(await stored()).toBe(before);
  });

  it('stores the new reason of a message that fails again, without a stack', async () => {
    await store('one');
    letters.register(consumer, () => Promise.reject(new TypeError('still broken')));
    expect(await letters.replay({ consumer })).toMatchObject({ replayed: 0, failed: 1 });
    expect(await list()).toMatchObject([{ reason: 'TypeError: still broken', deliveries: 6 }]);
  });

  it('keeps the messages of a consumer that the service does not have', async () => {
    await store('one');
    await letters.replay({ consumer });
    expect(await list()).toMatchObject([{ reason: `Error: No consumer ${consumer} in this service` }]);
  });
});
