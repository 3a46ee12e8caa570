import type { INestApplication } from '@nestjs/common';
import { startMessagingTestApp, workerOf, type MessagingTestApp } from '../../test/messaging-test-app.js';
import { BroadcastOutboxRepository } from './broadcast-outbox.repository.js';
import { BroadcastRelay } from './broadcast-relay.service.js';

describe('BroadcastOutboxRepository', () => {
  let testApp: MessagingTestApp;
  let app: INestApplication;
  let repository: BroadcastOutboxRepository;

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    app = await testApp.startService();
    await app.get(BroadcastRelay).stop(); // its rows are those of the spec
    repository = new BroadcastOutboxRepository(workerOf(app));
  });
  afterAll(() => testApp.stop(), 30_000);
  beforeEach(() => testApp.admin.query('delete from outbox_broadcast'));

  const insert = (...payloads: string[]) =>
    workerOf(app).transaction((tx) =>
      repository.insert(
        tx,
        payloads.map((payload) => ({ id: payload, aggregateId: 'one', subject: 'rmm.broadcast.x', payload })),
      ),
    );
  const payloads = (rows: { payload: string }[]) => rows.map(({ payload }) => payload);

  it('leases the oldest rows first, up to the limit, and each to one relay', async () => {
    await insert('a', 'b', 'c');
    expect(payloads(await repository.lease(2, 60_000))).toEqual(['a', 'b']);
    expect(payloads(await repository.lease(2, 60_000))).toEqual(['c']);
    expect(await repository.lease(2, 60_000)).toEqual([]);
  });

  it('gives concurrent relays different rows', async () => {
    await insert(...Array.from({ length: 20 }, (_, n) => `${n}`));
    const leased = (await Promise.all([1, 2, 3, 4].map(() => repository.lease(5, 60_000)))).flatMap(payloads);
    expect(new Set(leased).size).toBe(20);
    expect(leased).toHaveLength(20);
  });

  it('leases a row again once its lease has expired, and not once it is deleted', async () => {
    await insert('a', 'b');
    const [first] = await repository.lease(1, 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const again = await repository.lease(10, 1);
    expect(payloads(again)).toEqual(['a', 'b']);
    await repository.deleteSent([first]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(payloads(await repository.lease(10, 1))).toEqual(['b']);
  });

  it('returns the age of the oldest row that is not sent, leased or not, and 0 without any', async () => {
    expect(await repository.oldestMs()).toBe(0);
    await insert('a', 'b');
    await testApp.admin.query(`update outbox_broadcast set created_at = now() - interval '5 s' where payload = 'a'`);
    const [first] = await repository.lease(1, 60_000);
    expect(await repository.oldestMs()).toBeGreaterThanOrEqual(5_000);
    await repository.deleteSent([first]);
    expect(await repository.oldestMs()).toBeLessThan(5_000);
  });
});
