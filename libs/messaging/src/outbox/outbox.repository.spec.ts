import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { startMessagingTestApp, workerOf, type MessagingTestApp } from '../../test/messaging-test-app.js';
import { OutboxRelay } from './outbox-relay.service.js';
import { OutboxRepository } from './outbox.repository.js';

describe('OutboxRepository', () => {
  let testApp: MessagingTestApp;
  let app: INestApplication;
  let repository: OutboxRepository;

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    app = await testApp.startService();
    await app.get(OutboxRelay).stop(); // its rows are those of the spec
    repository = new OutboxRepository(workerOf(app));
  });
  afterAll(() => testApp.stop(), 30_000);
  beforeEach(() => testApp.admin.query('delete from outbox; delete from outbox_lease'));

  const insert = (...aggregates: string[]) =>
    workerOf(app).transaction((tx) =>
      repository.insert(
        tx,
        aggregates.map((aggregateId, n) => ({ id: randomUUID(), aggregateId, subject: 's', payload: `${n}` })),
      ),
    );
  const aggregatesOf = ({ rows }: { rows: { aggregateId: string }[] }) => rows.map(({ aggregateId }) => aggregateId);
  const lease = (batchSize = 10, leaseMs = 60_000) => repository.lease(batchSize, leaseMs);

  it('leases the oldest rows in the order in which they were inserted', async () => {
    await insert('a', 'b', 'a', 'c');
    const batch = await lease(3);
    expect(batch.rows.map(({ aggregateId, payload }) => [aggregateId, payload])).toEqual([
      ['a', '0'],
      ['b', '1'],
      ['a', '2'],
    ]);
    expect(batch.full).toBe(true);
    expect((await lease()).full).toBe(false);
  });

  it('gives the rows of a leased aggregate to no other relay, those inserted later included', async () => {
    await insert('a', 'b');
    await lease();
    await insert('a', 'c');
    expect(aggregatesOf(await lease())).toEqual(['c']);
    expect(aggregatesOf(await lease())).toEqual([]);
  });

  it('reports that another relay has leased aggregates, not that this one has', async () => {
    expect((await lease()).contended).toBe(false);
    await insert('a');
    const { leaseId, rows, contended } = await lease();
    expect(contended).toBe(false);
    await insert('b');
    expect(await lease()).toMatchObject({ rows: [{ aggregateId: 'b' }], contended: true });
    expect(await lease()).toMatchObject({ rows: [], contended: true });
    await repository.settle(leaseId, rows, []);
    await testApp.admin.query('delete from outbox_lease');
    expect(await lease()).toMatchObject({ rows: [{ aggregateId: 'b' }], contended: false });
  });

  it('gives concurrent relays different aggregates', async () => {
    await insert(...Array.from({ length: 12 }, (_, n) => `agg-${n}`));
    const batches = await Promise.all([1, 2, 3, 4].map(() => lease(3)));
    const leased = batches.flatMap(aggregatesOf);
    expect(leased).toHaveLength(12);
    expect(new Set(leased).size).toBe(12);
  });

  it('frees aggregates whose lease has expired', async () => {
    await insert('a');
    await lease(10, 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(aggregatesOf(await lease())).toEqual(['a']);
  });

  it('deletes published rows, delays refused aggregates and frees the others', async () => {
    await insert('done', 'refused', 'left');
    const { leaseId, rows } = await lease();
    const published = rows.filter(({ aggregateId }) => aggregateId === 'done');
    await repository.settle(leaseId, published, [{ aggregateId: 'refused', seconds: 60 }]);
    expect(aggregatesOf(await lease())).toEqual(['left']);
    const { rows: stored } = await testApp.admin.query('select aggregate_id from outbox order by seq');
    expect(stored).toEqual([{ aggregate_id: 'refused' }, { aggregate_id: 'left' }]);
  });

  it('returns the age of the oldest row, 0 without any', async () => {
    expect(await repository.oldestSeconds()).toBe(0);
    await insert('a');
    await testApp.admin.query(
      `insert into outbox (created_at, id, aggregate_id, subject, payload)
       overriding system value select now() - interval '100 seconds', gen_random_uuid(), 'b', 's', '{}'`,
    );
    await testApp.admin.query(`delete from outbox where aggregate_id = 'a'`);
    expect(await repository.oldestSeconds()).toBeGreaterThanOrEqual(100);
  });
});
