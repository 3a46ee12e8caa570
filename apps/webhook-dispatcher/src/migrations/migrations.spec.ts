import pg from 'pg';
import { revertMigrations, runMigrations } from '@rmm/persistence';
import { countVisibleRows, entityProblems, rowSecurityProblems, untiedTenantTables } from '@rmm/persistence/testing';
import { startStores, type Stores, type TestDatabase } from '@rmm/testing-services';
import { ENTITIES } from '../entities.js';
import { MIGRATIONS } from './index.js';

const SCHEMA = 'webhook_dispatcher';

const NEW_ORGANIZATION = `
  insert into organization_directory (org_id, partner_id, name, slug, status, version)
  values (gen_random_uuid(), gen_random_uuid(), 'O', 'o', 'active', 1) returning partner_id, org_id`;

describe('the schema', () => {
  let stores: Stores;
  let database: TestDatabase<typeof SCHEMA>;
  let admin: pg.Client;

  beforeAll(async () => {
    stores = await startStores();
    database = await stores.createDatabase([SCHEMA]);
    admin = new pg.Client({ connectionString: database.adminUrl, options: `-c search_path=${SCHEMA}` });
    await admin.connect();
  });

  afterAll(async () => {
    await admin.end();
    await stores.stop();
  });

  const target = () => {
    const { owner, service, worker } = database.urls[SCHEMA];
    return {
      schema: SCHEMA,
      migrations: MIGRATIONS,
      migrationsDatabaseUrl: owner,
      databaseUrl: service,
      workerDatabaseUrl: worker,
    };
  };
  const executor = () => ({
    query: async <Row>(sql: string, params: readonly unknown[] = []) =>
      (await admin.query(sql, [...params])).rows as Row[],
  });
  const as = async (login: 'service' | 'worker', sql: string) => {
    const client = new pg.Client({
      connectionString: database.urls[SCHEMA][login],
      options: `-c search_path=${SCHEMA}`,
    });
    await client.connect();
    try {
      return (await client.query(sql)).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  };
  const tables = async () =>
    (
      await admin.query(
        `select relname from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'p')`,
        [SCHEMA],
      )
    ).rows
      .map(({ relname }: { relname: string }) => relname)
      .filter((name: string) => !/_p\d{8}$|_default$/.test(name));

  it('goes up, down over seeded rows, and up again', async () => {
    await runMigrations(target());
    const up = await tables();
    expect(up).toEqual(expect.arrayContaining(['webhook', 'webhook_counter', 'delivery', 'event_body', 'dead_letter']));
    await admin.query(`
      with o as (${NEW_ORGANIZATION})
      insert into webhook (id, partner_id, org_id, name, url_sealed, events)
        select '00000000-0000-0000-0000-000000000001', partner_id, org_id, 'a', 'x', '{*}' from o;
      insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts)
        select gen_random_uuid(), at, w.partner_id, w.org_id, w.id, 'device.online', 'e', 6
          from webhook w, unnest(array[now(), now() - interval '5 days', now() + interval '40 days']) as at`);
    await revertMigrations(target(), MIGRATIONS.length);
    expect((await tables()).filter((name) => name !== 'rmm_migration' && name !== 'rmm_partition_rule')).toEqual([]);
    await runMigrations(target());
    expect((await tables()).sort()).toEqual(up.sort());
  });

  it('has row-level security, policies and grants on every table', async () => {
    expect(await rowSecurityProblems(executor(), SCHEMA)).toEqual([]);
  });

  it('has the tables and columns that the entities declare', async () => {
    // read by libs/access alone
    const exempt = ['organization_erasure'];
    expect(await entityProblems(executor(), SCHEMA, ENTITIES, exempt)).toEqual([]);
  });

  it('ties the organization of webhooks to its partner by a key', async () => {
    // written in sets by the dispatcher alone, which copies both ids from the webhook
    const ofDeliveries = ['attempt', 'dead_letter', 'delivery', 'event_body', 'request_shape'];
    expect(await untiedTenantTables(executor(), SCHEMA, ofDeliveries)).toEqual([]);
  });

  it('rejects a webhook whose partner is not the partner of its organization', async () => {
    const { rows } = await admin.query<{ org_id: string }>(NEW_ORGANIZATION);
    const foreign = admin.query(
      `insert into webhook (partner_id, org_id, name, url_sealed, events) values (gen_random_uuid(), $1, 'd', 'x', '{*}')`,
      [rows[0].org_id],
    );
    await expect(foreign).rejects.toMatchObject({ code: '23503' });
  });

  it('shows nothing to the service login without a tenant', async () => {
    await admin.query(`with o as (${NEW_ORGANIZATION})
                       insert into webhook (partner_id, org_id, name, url_sealed, events)
                       select partner_id, org_id, 'b', 'x', '{*}' from o`);
    expect(await as('service', 'select * from webhook')).toEqual([]);
    await expect(
      as(
        'service',
        `insert into webhook (partner_id, org_id, name, url_sealed, events)
                     values (gen_random_uuid(), gen_random_uuid(), 'c', 'x', '{*}')`,
      ),
    ).rejects.toThrow('row-level security');
    expect((await as('worker', 'select * from webhook')).length).toBeGreaterThan(0);
  });

  it('shows the service login no webhook in system scope, which is of the platform login', async () => {
    await admin.query(`with o as (${NEW_ORGANIZATION})
                       insert into webhook (partner_id, org_id, name, url_sealed, events)
                       select partner_id, org_id, 'b', 'x', '{*}' from o`);
    const { service, worker } = database.urls[SCHEMA];
    const system = { 'rmm.scope': 'system', 'rmm.org_access': 'all' } as const;
    expect(await countVisibleRows(service, SCHEMA, 'webhook', system)).toBe(0);
    const platform = { ...system, role: new URL(service).username };
    expect(await countVisibleRows(worker, SCHEMA, 'webhook', platform)).toBeGreaterThan(0);
  });

  it('lets the worker change deliveries, not webhooks', async () => {
    await expect(as('worker', `update webhook set name = 'x'`)).rejects.toThrow('permission denied');
    await expect(as('service', 'update delivery set attempt = 1')).rejects.toThrow('permission denied');
    await expect(as('service', 'select * from dispatcher_replica')).rejects.toThrow('permission denied');
  });

  it('takes the retention from the configuration, and none shorter than the longest retry policy', async () => {
    await as('worker', 'select set_delivery_retention(9)');
    await as('worker', 'select set_delivery_retention(7)');
    const rules = await admin.query(
      `select table_name, keep_days from rmm_partition_rule where keep_days = 9 order by table_name`,
    );
    expect(rules.rows.map(({ table_name }: { table_name: string }) => table_name)).toEqual([
      'attempt',
      'dead_letter',
      'delivery',
      'event_body',
    ]);
    await expect(as('service', 'select set_delivery_retention(10)')).rejects.toThrow('permission denied');
  });
});
