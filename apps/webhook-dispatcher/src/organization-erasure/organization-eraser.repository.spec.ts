import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { EraseOrganizationDataJob } from '@rmm/access';
import { Outbox } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { tablesOfOrganizations } from '@rmm/persistence/testing';
import { DispatcherTestCluster, type Organization } from '../../test/dispatcher-test-cluster.js';
import { OrganizationEraserRepository } from './organization-eraser.repository.js';

const TABLES = [
  'webhook',
  'webhook_counter',
  'deleted_webhook',
  'request_shape',
  'delivery',
  'attempt',
  'event_body',
  'dead_letter',
  'webhook_recovery',
];

describe('OrganizationEraserRepository', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
    app = await cluster.start();
  });
  afterAll(() => cluster.close(), 30_000);

  /** An organization with a webhook, a deleted one, and three deliveries of each with attempts, bodies and dead letters. */
  async function createCustomer(): Promise<Organization> {
    const organization = await cluster.organization();
    const { orgId, partnerId } = organization;
    const owner = [partnerId, orgId];
    const [live, deleted] = [randomUUID(), randomUUID()];
    await cluster.rows(
      `INSERT INTO webhook (id, partner_id, org_id, name, url_sealed, events, status)
       VALUES ($3, $1, $2, 'Secret hook', 'x', '{*}', 'disabled')`,
      [...owner, live],
    );
    await cluster.rows('INSERT INTO webhook_counter (webhook_id, partner_id, org_id) VALUES ($3, $1, $2)', [
      ...owner,
      live,
    ]);
    await cluster.rows('INSERT INTO deleted_webhook (webhook_id, partner_id, org_id) VALUES ($3, $1, $2)', [
      ...owner,
      deleted,
    ]);
    for (const webhookId of [live, deleted]) {
      await cluster.rows(
        `INSERT INTO webhook_recovery (
           id, webhook_id, partner_id, org_id, after_created_at, after_id, until_created_at, until_id)
         VALUES (gen_random_uuid(), $3, $1, $2, now(), gen_random_uuid(), now(), gen_random_uuid())`,
        [...owner, webhookId],
      );
      await cluster.rows(
        `INSERT INTO request_shape (id, webhook_id, partner_id, org_id, names, headers)
         VALUES (gen_random_uuid(), $3, $1, $2, '{}', '{}')`,
        [...owner, webhookId],
      );
      await cluster.rows(
        `WITH d AS (
           INSERT INTO delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status)
           SELECT gen_random_uuid(), now(), $1, $2, $3, 'device.online', gen_random_uuid(), 6, 'failed'
             FROM generate_series(1, 3) RETURNING *),
         a AS (
           INSERT INTO attempt (delivery_id, created_at, attempt, partner_id, org_id, started_at)
           SELECT id, created_at, 1, partner_id, org_id, now() FROM d),
         b AS (
           INSERT INTO event_body (event_id, created_at, partner_id, org_id, body)
           SELECT event_id, created_at, partner_id, org_id, 'secret' FROM d)
         INSERT INTO dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, attempts)
         SELECT id, now(), created_at, partner_id, org_id, webhook_id, event_type, event_id, 6 FROM d`,
        [...owner, webhookId],
      );
    }
    return organization;
  }
  const count = async ({ orgId }: Organization) => {
    const counts: Record<string, number> = {};
    for (const table of TABLES) {
      const [row] = await cluster.rows<{ n: number }>(`SELECT count(*)::int AS n FROM ${table} WHERE org_id = $1`, [
        orgId,
      ]);
      counts[table] = row.n;
    }
    return counts;
  };
  const nothing = Object.fromEntries(TABLES.map((table) => [table, 0]));

  it('erases webhooks after their history, of the organization alone, in batches', async () => {
    const [erased, other] = [await createCustomer(), await createCustomer()];
    const kept = await count(other);
    const eraser = new OrganizationEraserRepository(app.get(Outbox));
    const batches: object[] = [];
    for (;;) {
      const batch = await app.get(WorkerDatabase).transaction((tx) => eraser.eraseBatch(tx, erased, 2));
      if (batch === null) break;
      batches.push(batch);
    }
    const history = [{ dead_letter: 2 }, { dead_letter: 1 }, { delivery: 2 }, { delivery: 1 }, { webhook: 1 }];
    expect(batches).toEqual([...history, ...history]);
    expect(await count(erased)).toEqual(nothing);
    expect(await count(other)).toEqual(kept);
  });

  it('erases the deliveries of its events to webhooks of the partner, and keeps those of other organizations', async () => {
    const erased = await cluster.organization();
    const other = await cluster.organization(erased.partnerId);
    const webhookId = randomUUID();
    await cluster.rows(
      `INSERT INTO webhook (id, partner_id, name, url_sealed, events) VALUES ($2, $1, 'Hook', 'x', '{*}')`,
      [erased.partnerId, webhookId],
    );
    for (const { orgId, partnerId } of [erased, other]) {
      await cluster.rows(
        `WITH d AS (
           INSERT INTO delivery (id, created_at, partner_id, event_org_id, webhook_id, event_type, event_id, max_attempts)
           SELECT gen_random_uuid(), now(), $1, $2, $3, 'device.online', gen_random_uuid(), 6
             FROM generate_series(1, 3) RETURNING *),
         a AS (
           INSERT INTO attempt (delivery_id, created_at, attempt, partner_id, started_at)
           SELECT id, created_at, 1, partner_id, now() FROM d),
         b AS (
           INSERT INTO event_body (event_id, created_at, partner_id, org_id, body)
           SELECT event_id, created_at, partner_id, partner_id, 'secret' FROM d)
         INSERT INTO dead_letter (delivery_id, failed_at, created_at, partner_id, event_org_id, webhook_id, event_type, event_id, attempts)
         SELECT id, now(), created_at, partner_id, event_org_id, webhook_id, event_type, event_id, 6 FROM d`,
        [partnerId, orgId, webhookId],
      );
    }
    const eraser = new OrganizationEraserRepository(app.get(Outbox));
    const erase = () => app.get(WorkerDatabase).transaction((tx) => eraser.eraseBatch(tx, erased, 2));
    expect([await erase(), await erase(), await erase()]).toEqual([{ delivery: 2 }, { delivery: 1 }, null]);
    const left = (table: string) =>
      cluster.rows(`SELECT count(*)::int AS n FROM ${table} WHERE partner_id = $1`, [erased.partnerId]);
    for (const table of ['delivery', 'attempt', 'event_body', 'dead_letter'])
      expect(await left(table)).toEqual([{ n: 3 }]);
    expect(await left('webhook')).toEqual([{ n: 1 }]);
    expect(
      await cluster.rows('SELECT DISTINCT event_org_id AS id FROM delivery WHERE partner_id = $1', [erased.partnerId]),
    ).toEqual([{ id: other.orgId }]);
  });

  it('is run for organizations that the directory has deleted', async () => {
    const organization = await createCustomer();
    const { orgId, partnerId } = organization;
    const run = () =>
      app
        .get(EraseOrganizationDataJob)
        .run()
        .catch(() => undefined); // no service receives the report
    await cluster.rows('INSERT INTO organization_erasure (org_id, partner_id) VALUES ($1, $2)', [orgId, partnerId]);
    await run();
    expect((await count(organization)).webhook).toBe(1);
    await cluster.rows('UPDATE organization_directory SET deleted = true, version = 2 WHERE org_id = $1', [orgId]);
    await run();
    expect(await count(organization)).toEqual(nothing);
    expect(await cluster.rows('SELECT erased FROM organization_erasure WHERE org_id = $1', [orgId])).toEqual([
      { erased: { webhook: 2, delivery: 6, dead_letter: 6 } },
    ]);
  });

  it('erases every table of organizations', async () => {
    const kept = ['organization_directory', 'organization_erasure'];
    const executor = { query: (sql: string, params?: unknown) => cluster.rows<never>(sql, params as unknown[]) };
    expect(await tablesOfOrganizations(executor, 'webhook_dispatcher')).toEqual([...TABLES, ...kept].sort());
  });
});
