import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import { startMessagingTestApp, type MessagingTestApp } from '../../test/messaging-test-app.js';
import { NatsLink } from '../index.js';
import { StoredMessages, textOf } from './stored-messages.js';

describe('StoredMessages', () => {
  let testApp: MessagingTestApp;
  let link: NatsLink;
  let stored: StoredMessages;
  let first: number;

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    link = new NatsLink({ url: testApp.nats.url, name: 'stored-messages' });
    await link.open();
    await testApp.startService();
    stored = new StoredMessages(link, 'RMM_EVENTS');
    const jetstream = testApp.connection.jetstream();
    const subject = `rmm.events.${randomUUID()}.device.online`;
    const published = [];
    for (let n = 0; n < 10; n += 1) published.push(await jetstream.publish(subject, `message ${n}`));
    first = published[0].seq;
  });
  afterAll(async () => {
    stored.stop();
    await link.close();
    await testApp.stop();
  });

  const readRun = async (seq: number, count: number) => {
    const texts: Record<number, string> = {};
    const missing = await new Promise<readonly number[]>((resolve) =>
      stored.readRun(seq, count, { onMessage: (at, data) => (texts[at - first] = textOf(data)), onEnd: resolve }),
    );
    return { texts, missing: missing.map((at) => at - first) };
  };

  it('reads one message by its number', async () => {
    expect(textOf(await stored.read(first + 3))).toBe('message 3');
  });

  it('reads a run with one request, and no message beyond it', async () => {
    expect(await readRun(first + 2, 3)).toEqual({
      texts: { 2: 'message 2', 3: 'message 3', 4: 'message 4' },
      missing: [],
    });
  });

  it('reports the messages that are no longer stored', async () => {
    const manager = await testApp.connection.jetstreamManager();
    await manager.streams.deleteMessage('RMM_EVENTS', first + 6);
    expect(await readRun(first + 5, 3)).toEqual({ texts: { 5: 'message 5', 7: 'message 7' }, missing: [6] });
    expect(await readRun(first + 8, 4)).toEqual({ texts: { 8: 'message 8', 9: 'message 9' }, missing: [10, 11] });
    await expect(stored.read(first + 6)).rejects.toThrow('cannot be read');
  });

  it('reads several runs at a time', async () => {
    const runs = await Promise.all([readRun(first, 2), readRun(first + 3, 1), readRun(first + 8, 2)]);
    expect(runs.map(({ texts }) => Object.keys(texts).map(Number))).toEqual([[0, 1], [3], [8, 9]]);
  });

  it('ends what runs when it stops', async () => {
    const other = new StoredMessages(link, 'RMM_NONE');
    const reading = other.read(1);
    other.stop();
    await expect(reading).rejects.toThrow('cannot be read');
    await eventually(() => expect(link.isConnected).toBe(true));
  });
});
