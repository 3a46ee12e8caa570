import pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { eventually, startStores, type Stores, type TestDatabase } from '@rmm/testing-services';
import { optionsFor, partner, partnerA, query, SCHEMA } from '../../test/persistence-test-database.js';
import { runMigrations } from '../migrations/migrations-runner.service.js';
import { Databases } from '../module/databases.service.js';
import { tenantTable } from '../rls/tenant-table.js';
import { TenantDatabase } from '../tenants/tenant-database.service.js';
import { rowSecurityProblems } from '../testing/row-security-problems.js';
import { WorkerDatabase } from '../worker/worker-database.service.js';
import { MaintainPartitionsJob } from './maintain-partitions.job.js';
import { noLongerPartitioned, partitionedByTime } from './partitioned-by-time.js';

class AddDeliveries1700000000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`
      create table delivery (
        id bigint generated always as identity, partner_id uuid not null, org_id uuid not null, note text,
        length integer generated always as (char_length(note)) stored, created_at timestamptz not null default now(),
        primary key (id, created_at)
      ) partition by range (created_at)`);
    await tenantTable(q, {
      table: 'delivery',
      ownership: 'organization',
      service: ['select', 'insert'],
      worker: ['select', 'insert'],
    });
    await partitionedByTime(q, { table: 'delivery', column: 'created_at', everyDays: 1, keepDays: 7, aheadDays: 3 });
    await q.query('create table trail (created_at timestamptz not null) partition by range (created_at)');
    await tenantTable(q, { table: 'trail', ownership: 'worker-only', worker: ['insert'] });
    await partitionedByTime(q, { table: 'trail', column: 'created_at', everyDays: 7, aheadDays: 7 });
  }

  async down(q: QueryRunner): Promise<void> {
    for (const table of ['delivery', 'trail']) {
      await noLongerPartitioned(q, table);
      await q.query(`drop table ${table}`);
    }
  }
}

/** The migration of docs/CONTRIBUTING.md. */
class AddDeliveryByNote1700000000001 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY runs outside of a transaction. */
  transaction = false;

  async up(q: QueryRunner): Promise<void> {
    await q.query('CREATE INDEX IF NOT EXISTS delivery_by_note ON ONLY delivery (note)');
    const partitions = (await q.query(`
      SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'delivery'::regclass
        AND NOT EXISTS (SELECT FROM pg_inherits a JOIN pg_index x ON x.indexrelid = a.inhrelid
                        WHERE a.inhparent = 'delivery_by_note'::regclass AND x.indrelid = c.oid)
      ORDER BY c.relname`)) as { name: string }[];
    for (const { name } of partitions) {
      await q.query(`DROP INDEX IF EXISTS ${name}_by_note`); // left invalid by a run that failed
      await q.query(`CREATE INDEX CONCURRENTLY ${name}_by_note ON ${name} (note)`);
      await q.query(`ALTER INDEX delivery_by_note ATTACH PARTITION ${name}_by_note`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP INDEX delivery_by_note');
  }
}

describe('tables partitioned by time', () => {
  let stores: Stores;
  let database: TestDatabase<typeof SCHEMA>;
  let databases: Databases;
  let worker: WorkerDatabase;
  let tenants: TenantDatabase;
  const admin = (sql: string, params?: unknown[]) => query(database.adminUrl, sql, params);
  const maintainAt = (offset: string) =>
    query(database.urls[SCHEMA].owner, `set search_path = ${SCHEMA}`).then(() =>
      query(database.urls[SCHEMA].owner, `select * from ${SCHEMA}.rmm_maintain_partitions_at(now() + $1::interval)`, [
        offset,
      ]),
    );
  const partitions = async (table: string) =>
    (
      await admin(
        `select inhrelid::regclass::text as name from pg_inherits where inhparent = '${SCHEMA}.${table}'::regclass order by 1`,
      )
    ).map((row) => String(row['name']).replace(`${SCHEMA}.`, ''));

  beforeAll(async () => {
    stores = await startStores();
  });
  beforeEach(async () => {
    database = await stores.createDatabase([SCHEMA]);
    databases = await Databases.open({
      ...optionsFor(database),
      entities: [],
      migrations: [AddDeliveries1700000000000],
    });
    worker = new WorkerDatabase(databases);
    tenants = new TenantDatabase(databases);
  });
  afterEach(() => databases.close());
  afterAll(() => stores.stop());

  const add = (age: string) =>
    worker.query(
      `insert into delivery (partner_id, org_id, note, created_at) values ($1, gen_random_uuid(), 'ping', now() - $2::interval) returning length`,
      [partnerA, age],
    );

  it('have partitions of today, the days ahead and a default from their first migration', async () => {
    const names = await partitions('delivery');
    expect(names).toHaveLength(5); // today, three ahead, default
    const [{ today }] = await admin(`select to_char(now() at time zone 'UTC', 'YYYYMMDD') as today`);
    expect(names).toContain(`delivery_p${String(today)}`);
    expect(names).toContain('delivery_default');
  });

  it('separate tenants, and give no access to a partition itself', async () => {
    await add('0 s');
    expect(await tenants.read(partner(partnerA), 'select note, length from delivery')).toEqual([
      { note: 'ping', length: 4 },
    ]);
    expect(await tenants.read(partner('00000000-0000-4000-8000-000000000000'), 'select id from delivery')).toEqual([]);
    const [name] = await partitions('delivery');
    await expect(worker.query(`select * from ${name}`)).rejects.toMatchObject({ code: '42501' });
    expect(await rowSecurityProblems(worker, SCHEMA)).toEqual([]);
  });

  it('are maintained by the worker login, once for concurrent runs', async () => {
    const [name] = (await partitions('delivery')).filter((partition) => partition !== 'delivery_default').slice(-1);
    await admin(`drop table ${SCHEMA}.${name}`);
    const job = new MaintainPartitionsJob(worker);
    const done = await Promise.all([job.run(), job.run(), job.run()]);
    expect(done.reduce((sum, { created }) => sum + created, 0)).toBe(1);
    expect(await partitions('delivery')).toContain(name);
  });

  it('let the worker call the maintenance as of now only', async () => {
    await expect(worker.query(`select rmm_maintain_partitions_at(now() + interval '1 year')`)).rejects.toMatchObject({
      code: '42501',
    });
    await expect(tenants.read(partner(partnerA), 'select rmm_maintain_partitions()')).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('drop partitions after the retention time, not earlier', async () => {
    await add('0 s');
    const [first] = await partitions('delivery');
    await maintainAt('7 days');
    expect(await partitions('delivery')).not.toHaveLength(0);
    expect(await tenants.read(partner(partnerA), 'select id from delivery')).toHaveLength(1);
    await maintainAt('8 days 1 hour');
    expect(await tenants.read(partner(partnerA), 'select id from delivery')).toHaveLength(0);
    expect(first === undefined).toBe(false);
    const [{ today }] = await admin(`select to_char(now() at time zone 'UTC', 'YYYYMMDD') as today`);
    expect(await partitions('delivery')).not.toContain(`delivery_p${String(today)}`);
  });

  it('keep partitions of a table without keepDays', async () => {
    const before = await partitions('trail');
    await maintainAt('400 days');
    expect(await partitions('trail')).toEqual(expect.arrayContaining(before));
  });

  it('store rows outside of all partitions in the default, move them to a new partition and delete old ones', async () => {
    await add('-10 days');
    await add('8 days');
    const inDefault = () =>
      admin(`select note, created_at > now() as ahead from ${SCHEMA}.delivery_default order by created_at`);
    expect(await inDefault()).toEqual([
      { note: 'ping', ahead: false },
      { note: 'ping', ahead: true },
    ]);
    await maintainAt('8 days');
    expect(await inDefault()).toEqual([]);
    expect(await admin(`select note from ${SCHEMA}.delivery`)).toEqual([{ note: 'ping' }]);
  });

  it('get an index partition by partition, which no writer waits for, also after a run that failed', async () => {
    const [first] = await partitions('delivery');
    await admin(`create index ${first}_by_note on ${SCHEMA}.${first} (note)`);
    const { owner, service, worker: workerUrl } = database.urls[SCHEMA];
    const reader = new pg.Client({ connectionString: database.adminUrl });
    await reader.connect();
    // The build waits for transactions with an older snapshot.
    await reader.query('begin isolation level repeatable read');
    await reader.query('select 1');
    const migrated = runMigrations({
      schema: SCHEMA,
      migrations: [AddDeliveries1700000000000, AddDeliveryByNote1700000000001],
      migrationsDatabaseUrl: owner,
      databaseUrl: service,
      workerDatabaseUrl: workerUrl,
    });
    await eventually(async () => expect(await admin('select 1 from pg_stat_progress_create_index')).toHaveLength(1));
    await add('0 s');
    expect(await admin('select 1 from pg_stat_progress_create_index')).toHaveLength(1);
    await reader.query('commit');
    await reader.end();
    expect(await migrated).toEqual(['AddDeliveryByNote1700000000001']);
    const [index] = await admin(
      `select indisvalid as valid, (select count(*)::int from pg_inherits where inhparent = indexrelid) as parts
       from pg_index where indexrelid = '${SCHEMA}.delivery_by_note'::regclass`,
    );
    expect(index).toEqual({ valid: true, parts: (await partitions('delivery')).length });
  });

  it('need no maintenance in a schema without them', async () => {
    const bare = await stores.createDatabase([SCHEMA]);
    const opened = await Databases.open(optionsFor(bare));
    const job = new MaintainPartitionsJob(new WorkerDatabase(opened));
    expect(await job.run()).toEqual({ created: 0, dropped: 0 });
    await opened.close();
  });
});
