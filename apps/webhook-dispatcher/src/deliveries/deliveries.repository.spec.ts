import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { type KeysetRows, TenantDatabase } from '@rmm/persistence';
import { eventually } from '@rmm/testing-services';
import {
  createWebhook,
  DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../../test/dispatcher-test-cluster.js';
import { WebhooksRepository } from '../webhooks/webhooks.repository.js';
import { DeliveriesRepository, type DeliveryWithBody } from './deliveries.repository.js';
import { DeliveryNotFound } from './delivery.errors.js';

describe('DeliveriesRepository', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let tenants: TenantDatabase;
  let repository: DeliveriesRepository;
  let mine: Organization;
  let other: Organization;
  let webhookId: string;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open({ logins: true });
    app = await cluster.start();
    tenants = app.get(TenantDatabase, { strict: false });
    repository = app.get(DeliveriesRepository);
  });

  beforeEach(async () => {
    [mine, other] = [await cluster.organization(), await cluster.organization()];
    ({ id: webhookId } = await createWebhook(app, mine, 'http://127.0.0.1:9/hook'));
    await cluster.rows(`update webhook set status = 'disabled' where id = $1`, [webhookId]);
  });
  afterAll(() => cluster.close(), 30_000);

  const insert = (eventId: string, as = mine) =>
    tenants.transaction(organizationCaller(as), async (tx) => {
      const webhook = await app.get(WebhooksRepository).lock(tx, webhookId);
      const id = randomUUID();
      const body = `{"event":"${eventId}"}`;
      await repository.insert(tx, {
        id,
        webhook,
        orgId: webhook.orgId,
        eventType: 'device.online',
        eventId,
        maxAttempts: 6,
        repeatOf: null,
        body,
      });
      return id;
    });
  const get = (id: string, as = mine, ofWebhook = webhookId) =>
    tenants.transaction(organizationCaller(as), (tx) => repository.get(tx, ofWebhook, id));
  const list = (page: number, limit = 10, as = mine) =>
    repository.list(organizationCaller(as), { webhookId }, { page, limit });

  const listAfter = (cursor: string, limit = 10, as = mine) =>
    repository.listAfter(organizationCaller(as), { webhookId }, { cursor, limit });

  /** Counts the rows of deliveries that were read without an index. */
  const countScannedRows = async () => {
    await tenants.read(organizationCaller(mine), 'select pg_stat_force_next_flush()::text');
    const [row] = await cluster.rows<{ scanned: number }>(
      `select sum(seq_tup_read)::int as scanned from pg_stat_user_tables where relname like 'delivery\\_%'`,
    );
    return row?.scanned ?? 0;
  };

  it('inserts a delivery that is due at once, with its text, and counts it', async () => {
    const id = await insert('a');
    expect(await get(id)).toMatchObject({ id, status: 'pending', attempt: 0, eventId: 'a', body: '{"event":"a"}' });
    const [row] = await cluster.rows(
      `select d.due_at <= now() as due, c.total::int from delivery d join webhook_counter c using (webhook_id) where d.id = $1`,
      [id],
    );
    expect(row).toEqual({ due: true, total: 1 });
  });

  it('returns a delivery whose text is no longer stored without it', async () => {
    const id = await insert('gone');
    await cluster.rows(`delete from event_body where event_id = 'gone'`);
    expect(await get(id)).toMatchObject({ id, body: null });
  });

  it('finds no delivery of another tenant or webhook', async () => {
    const id = await insert('a');
    await expect(get(id, other)).rejects.toThrow(DeliveryNotFound);
    await expect(get(id, mine, randomUUID())).rejects.toThrow(DeliveryNotFound);
    expect(await list(1, 10, other)).toEqual({ rows: [], total: 0 });
  });

  it('counts up to 10,000 deliveries and reads those behind them by cursor', async () => {
    await cluster.rows(
      `insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status)
       select gen_random_uuid(), date_trunc('milliseconds', now()) - n * interval '1 s', $1, $2, $3, 'device.online',
              'e' || n, 6, 'delivered' from generate_series(1, 10050) n`,
      [mine.partnerId, mine.orgId, webhookId],
    );
    const first = await list(1);
    expect([first.total, first.totalCapped]).toEqual([10_000, true]);
    expect(first.rows.map(({ eventId }) => eventId)).toEqual(Array.from({ length: 10 }, (_, i) => `e${i + 1}`));
    expect((await list(1_000)).rows.map(({ eventId }) => eventId)).toContain('e10000');
    const beyond = { status: 400, fieldErrors: { page: [expect.stringContaining('`cursor`')] } };
    await expect(list(1_001)).rejects.toMatchObject(beyond);
    await expect(list(1_000_000)).rejects.toMatchObject(beyond);
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: KeysetRows<DeliveryWithBody> = await listAfter(cursor, 1_000);
      seen.push(...page.rows.map(({ eventId }) => eventId));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(Array.from({ length: 10_050 }, (_, i) => `e${i + 1}`));
    const failed = await repository.list(
      organizationCaller(mine),
      { webhookId, status: 'failed' },
      { page: 1, limit: 10 },
    );
    expect(failed).toEqual({ rows: [], total: 0 });
  });

  it('finds the deliveries of an event type without reading those of others', async () => {
    await insert('old');
    await cluster.rows(`update delivery set event_type = 'device.deleted' where event_id = 'old'`);
    await cluster.rows(
      `insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status)
       select gen_random_uuid(), now(), $1, $2, $3, 'device.online', 'e' || n, 6, 'delivered' from generate_series(1, 5000) n`,
      [mine.partnerId, mine.orgId, webhookId],
    );
    await cluster.rows('analyze delivery');
    const listType = (eventType: string) =>
      repository.list(organizationCaller(mine), { webhookId, eventType }, { page: 1, limit: 10 });
    // A prepared statement would keep a plan for the usual type.
    for (let n = 0; n < 12; n += 1) await listType('device.online');
    // The jobs of the dispatcher read deliveries too, now and then; a list would read the others each time.
    await eventually(async () => {
      const before = await countScannedRows();
      const found = await listType('device.deleted');
      expect([found.total, found.rows.map(({ eventId }) => eventId)]).toEqual([1, ['old']]);
      expect((await countScannedRows()) - before).toBe(0);
    });
  });

  it('returns nothing after the last page', async () => {
    const older = await insert('a');
    await cluster.rows(`update delivery set created_at = created_at - interval '1 s' where id = $1`, [older]);
    await insert('b');
    expect((await list(1, 1)).rows.map(({ eventId }) => eventId)).toEqual(['b']);
    expect((await list(2, 1)).rows.map(({ eventId }) => eventId)).toEqual(['a']);
    expect(await list(3, 1)).toEqual({ rows: [], total: 2 });
  });
});
