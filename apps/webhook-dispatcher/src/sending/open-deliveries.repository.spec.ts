import { randomUUID } from 'node:crypto';
import type { WorkerDatabase } from '@rmm/persistence';
import { countReads, explainStatements } from '@rmm/persistence/testing';
import { DispatcherTestDatabase } from '../../test/dispatcher-test-database.js';
import type { Organization } from '../../test/organizations.js';
import { partitionOf } from '../replicas/partition-of.js';
import { OpenDeliveriesRepository } from './open-deliveries.repository.js';

const BYTES = 1_000_000;

describe('OpenDeliveriesRepository', () => {
  let database: DispatcherTestDatabase;
  let repository: OpenDeliveriesRepository;
  let organization: Organization;
  let webhookId: string;

  beforeAll(async () => {
    database = await DispatcherTestDatabase.start();
    repository = new OpenDeliveriesRepository(database.worker);
  }, 120_000);
  beforeEach(async () => {
    organization = await database.organization();
    webhookId = await database.webhook(organization);
  });
  afterAll(() => database?.stop());

  /** Inserts a delivery that is due in so many seconds, with the text of its event. */
  const add = async (
    dueInSeconds: number,
    { status = 'pending', body = '{}', attempt = 0 }: { status?: string; body?: string | null; attempt?: number } = {},
  ) => {
    const [id, eventId] = [randomUUID(), randomUUID()];
    const { partnerId, orgId } = organization;
    await database.rows(
      `WITH added AS (
         INSERT INTO delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, attempt,
           status, due_at)
         VALUES ($1, now(), $2, $3, $4, 'device.online', $5, 6, $6, $7, now() + make_interval(secs => $8))
         RETURNING event_id, created_at, partner_id, org_id)
       INSERT INTO event_body (event_id, created_at, partner_id, org_id, body)
       SELECT *, $9 FROM added WHERE $9::text IS NOT NULL`,
      [id, partnerId, orgId, webhookId, eventId, attempt, status, dueInSeconds, body],
    );
    return id;
  };
  const read = async ({ rows = 10, bytes = BYTES, isEmpty = false, known = [] as string[] } = {}) => {
    const [due] = await repository.readDue([{ webhookId, rows, bytes, isEmpty }], known);
    return { ids: due?.deliveries.map(({ id }) => id), dueCount: due?.dueCount, nextDueMs: due?.nextDueMs };
  };

  it('reads the due rows of a webhook, the longest due first', async () => {
    const [second, first] = [await add(-10, { status: 'retrying', attempt: 2 }), await add(-20)];
    await add(-30, { status: 'delivered' });
    await add(-30, { status: 'failed' });
    await add(3_600);
    const { ids, dueCount, nextDueMs } = await read();
    expect([ids, dueCount]).toEqual([[first, second], 2]);
    expect(nextDueMs).toBeGreaterThan(3_000_000);
    const [due] = await repository.readDue([{ webhookId, rows: 10, bytes: BYTES, isEmpty: true }], []);
    expect(due?.deliveries[1]).toMatchObject({
      ...{ id: second, webhookId, ...organization, partition: partitionOf(organization.orgId) },
      ...{
        eventType: 'device.online',
        attempt: 2,
        maxAttempts: 6,
        body: Buffer.from('{}'),
        isStored: true,
        event: null,
      },
    });
  });

  it('reads so many rows, without those in memory', async () => {
    const ids = [await add(-30), await add(-20), await add(-10)];
    expect((await read({ rows: 2 })).ids).toEqual(ids.slice(0, 2));
    expect((await read({ rows: 2, known: ids.slice(0, 1) })).ids).toEqual(ids.slice(1));
  });

  it('reads rows as far as their texts fit, and the first one in any case when none is in memory', async () => {
    const body = 'x'.repeat(600);
    const ids = [await add(-30, { body }), await add(-20, { body }), await add(-10, { body: 'x' })];
    expect(await read({ bytes: 1_200 })).toMatchObject({ ids: ids.slice(0, 2), dueCount: 3 });
    expect(await read({ bytes: 1_199 })).toMatchObject({ ids: ids.slice(0, 1), dueCount: 3 });
    expect(await read({ bytes: 599 })).toMatchObject({ ids: [], dueCount: 3 });
    expect(await read({ bytes: 1, isEmpty: true })).toMatchObject({ ids: ids.slice(0, 1), dueCount: 3 });
  });

  it('reads no text of a row that does not fit', async () => {
    await add(-30, { body: 'x'.repeat(600) });
    const query = jest.spyOn(database.worker, 'query');
    await read({ bytes: 599 });
    const [rows] = await Promise.all(query.mock.results.map(({ value }) => value as Promise<{ body: unknown }[]>));
    query.mockRestore();
    expect(rows.map(({ body }) => body)).toEqual([null]);
  });

  it('returns a delivery whose text is no longer stored without it', async () => {
    const id = await add(-1, { body: null });
    const [due] = await repository.readDue([{ webhookId, rows: 1, bytes: BYTES, isEmpty: true }], []);
    expect(due?.deliveries).toMatchObject([{ id, body: null }]);
  });

  it('returns each webhook with its own rows, also one without', async () => {
    const mine = await add(-1);
    const idle = await database.webhook(organization);
    const wanted = [webhookId, idle].map((id) => ({ webhookId: id, rows: 1, bytes: BYTES, isEmpty: true }));
    const due = new Map((await repository.readDue(wanted, [])).map((one) => [one.webhookId, one]));
    expect(due.get(webhookId)?.deliveries.map(({ id }) => id)).toEqual([mine]);
    expect(due.get(idle)).toEqual({ webhookId: idle, deliveries: [], dueCount: 0, nextDueMs: null });
  });

  it('lists the webhooks with open rows of the included organizations', async () => {
    await add(60);
    await add(-60);
    const all = await repository.listOpen((orgId) => orgId === organization.orgId);
    expect(all).toEqual([{ webhookId, orgId: organization.orgId, dueMs: expect.any(Number), pauseMs: 0 }]);
    expect(all[0]?.dueMs).toBeLessThan(0);
    expect(await repository.listOpen(() => false)).toEqual([]);
    await database.rows(`UPDATE delivery SET status = 'delivered' WHERE webhook_id = $1`, [webhookId]);
    expect(await repository.listOpen((orgId) => orgId === organization.orgId)).toEqual([]);
  });

  it('lists no deleted webhook whose open rows are left, and all others after it', async () => {
    const ids = await Promise.all(Array.from({ length: 3 }, () => database.webhook(organization)));
    for (const id of ids) {
      webhookId = id;
      await add(60);
    }
    const [first, ...others] = ids.sort();
    await database.rows('DELETE FROM webhook_counter WHERE webhook_id = $1', [first]);
    await database.rows('DELETE FROM webhook WHERE id = $1', [first]);
    const listed = await repository.listOpen((orgId) => orgId === organization.orgId);
    expect(listed.map((one) => one.webhookId).sort()).toEqual(others);
  });

  it('lists more webhooks than one statement returns', async () => {
    await database.rows(
      `WITH added AS (
         INSERT INTO webhook (partner_id, org_id, name, url_sealed, events)
         SELECT $1, $2, 'Hook', 'sealed', '{device.*}' FROM generate_series(1, 2001) RETURNING id, partner_id, org_id)
       INSERT INTO delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, due_at)
       SELECT gen_random_uuid(), now(), partner_id, org_id, id, 'device.online', 'e', 6, now() + n * interval '1 minute'
       FROM added CROSS JOIN generate_series(1, 2) n`,
      [organization.partnerId, organization.orgId],
    );
    const listed = await repository.listOpen((orgId) => orgId === organization.orgId);
    expect(new Set(listed.map((one) => one.webhookId)).size).toBe(2_001);
    expect(Math.max(...listed.map(({ dueMs }) => dueMs ?? 0))).toBeLessThanOrEqual(60_000);
    await database.rows('DELETE FROM delivery WHERE org_id = $1', [organization.orgId]);
  });

  it('reads no webhook that has nothing to send, however many there are', async () => {
    await database.rows(
      `WITH added AS (
         INSERT INTO webhook (partner_id, org_id, name, url_sealed, events)
         SELECT $1, $2, 'Hook', 'sealed', '{device.*}' FROM generate_series(1, 2000) RETURNING id, partner_id, org_id)
       INSERT INTO webhook_counter (webhook_id, partner_id, org_id) SELECT * FROM added`,
      [organization.partnerId, organization.orgId],
    );
    await add(60);
    await database.worker.transaction(async (tx) => {
      const { explaining, plans } = explainStatements(tx);
      const [open] = await new OpenDeliveriesRepository(explaining as unknown as WorkerDatabase).listOpen(
        (orgId) => orgId === organization.orgId,
      );
      expect(open?.webhookId).toBe(webhookId);
      expect(plans).toHaveLength(2);
      for (const plan of plans) expect(countReads(plan)).toBeLessThan(500);
    });
  });

  it('lists the webhooks whose receiver asked for a pause, also without open rows, until it has ended', async () => {
    const list = () => repository.listOpen((orgId) => orgId === organization.orgId);
    const pause = (seconds: number) =>
      database.rows(
        `UPDATE webhook_counter SET paused_until = now() + $2 * INTERVAL '1 second' WHERE webhook_id = $1`,
        [webhookId, seconds],
      );
    await pause(600);
    const [paused] = await list();
    expect(paused).toMatchObject({ webhookId, dueMs: null });
    expect(paused?.pauseMs).toBeGreaterThan(500_000);
    expect(paused?.pauseMs).toBeLessThanOrEqual(600_000);
    await pause(-1);
    expect(await list()).toEqual([]);
    await add(-60);
    expect((await list())[0]?.pauseMs).toBeLessThanOrEqual(0);
  });

  it('finds the stored deliveries of an event by their ids and their time', async () => {
    const id = await add(0);
    const [row] = await database.rows('SELECT created_at FROM delivery WHERE id = $1', [id]);
    const at = new Date((row as { created_at: Date }).created_at);
    await database.rows('UPDATE delivery SET created_at = $2 WHERE id = $1', [id, at]);
    expect(await repository.findStored([id, randomUUID()], at)).toEqual(new Set([id]));
    expect(await repository.findStored([id], new Date(at.getTime() + 1))).toEqual(new Set());
    expect(await repository.findStored([], at)).toEqual(new Set());
  });
});
