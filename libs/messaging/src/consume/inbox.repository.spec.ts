import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Envelope } from '@rmm/contracts';
import { startMessagingTestApp, type MessagingTestApp } from '../../test/messaging-test-app.js';
import { handleInContext } from '../context/execution-context.js';
import { Inbox } from './inbox.repository.js';

const envelope = (timestamp = new Date().toISOString()): Envelope => ({
  id: randomUUID(),
  type: 'partner.updated',
  schemaVersion: 1,
  timestamp,
  partnerId: null,
  orgId: null,
  aggregateId: 'p1',
  aggregateVersion: 1,
  data: {},
});
const DAYS = 86_400_000;

describe('Inbox', () => {
  let testApp: MessagingTestApp;
  let app: INestApplication;
  let inbox: Inbox;

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    app = await testApp.startService();
    inbox = app.get(Inbox);
  });
  afterAll(() => testApp.stop(), 30_000);

  it('returns the result of the work once, and undefined when the message is delivered again', async () => {
    const message = envelope();
    expect(await inbox.once(message, () => Promise.resolve('done'))).toBe('done');
    const repeated = jest.fn();
    expect(await inbox.once(message, repeated)).toBeUndefined();
    expect(repeated).not.toHaveBeenCalled();
  });

  it('applies one of two effects that run at the same time', async () => {
    const message = envelope();
    const work = jest.fn(() => new Promise<string>((resolve) => setTimeout(() => resolve('done'), 100)));
    const results = await Promise.all([inbox.once(message, work), inbox.once(message, work)]);
    expect(work).toHaveBeenCalledTimes(1);
    expect(results.filter((result) => result === 'done')).toHaveLength(1);
  });

  it('forgets a message whose work failed, with what it wrote', async () => {
    const message = envelope();
    const failing = inbox.once(message, async (tx) => {
      await tx.query(`INSERT INTO effect (id, note) VALUES (:id, 'failed')`, { id: message.id });
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await inbox.once(message, () => Promise.resolve('again'))).toBe('again');
    const { rows } = await testApp.admin.query('select 1 from effect where id = $1', [message.id]);
    expect(rows).toEqual([]);
  });

  it('distinguishes the effects of one message, and the consumers that deliver it', async () => {
    const message = envelope();
    const once = (effect?: string) => inbox.once(message, () => Promise.resolve('done'), effect);
    expect([await once(), await once('a'), await once('b'), await once('a')]).toEqual([
      'done',
      'done',
      'done',
      undefined,
    ]);
    expect(await handleInContext(message, 'provisioning-internal', () => once())).toBe('done');
  });

  it.each([
    ['older than any stream stores', -400 * DAYS],
    ['in the future', 400 * DAYS],
  ])('recognizes a message whose time is %s', async (_, offsetMs) => {
    const message = envelope(new Date(Date.now() + offsetMs).toISOString());
    expect(await inbox.once(message, () => Promise.resolve('done'))).toBe('done');
    expect(await inbox.once(message, () => Promise.resolve('done'))).toBeUndefined();
  });
});
