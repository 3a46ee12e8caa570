import type { MigrationInterface, QueryRunner } from 'typeorm';
import { startStores, type Stores, type TestDatabase } from '@rmm/testing-services';
import { AddFleet1700000000000, optionsFor, query, SCHEMA, targetFor } from '../../test/persistence-test-database.js';
import { Databases, StartRefused } from '../module/databases.service.js';
import { withoutForcedRowSecurity } from '../rls/tenant-table.js';
import { loginRoles } from './login-roles.js';
import { migrateFromEnvironment } from './migrate-from-environment.js';
import { revertMigrations, runMigrations } from './migrations-runner.service.js';

class CountRuns1700000001000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query('create table ran (at timestamptz not null default clock_timestamp())');
    await q.query('insert into ran default values');
    await q.query('select pg_sleep(0.3)'); // long enough for the other replicas to come
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query('drop table ran');
  }
}

class Breaks1700000002000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query('create table half_made (id int)');
    await q.query('select 1/0');
  }
  down(): Promise<void> {
    return Promise.resolve();
  }
}

describe('migrations', () => {
  let stores: Stores;
  let database: TestDatabase<typeof SCHEMA>;
  const admin = (sql: string) => query(database.adminUrl, sql);

  beforeAll(async () => {
    stores = await startStores();
  });
  beforeEach(async () => {
    database = await stores.createDatabase([SCHEMA]);
  });
  afterAll(() => stores.stop());

  it('run once when ten replicas start together', async () => {
    const target = targetFor(database, [AddFleet1700000000000, CountRuns1700000001000]);
    const ran = await Promise.all(Array.from({ length: 10 }, () => runMigrations(target)));
    expect(ran.filter((names) => names.length > 0)).toEqual([['AddFleet1700000000000', 'CountRuns1700000001000']]);
    expect(await admin(`select count(*)::int as n from ${SCHEMA}.ran`)).toEqual([{ n: 1 }]);
  });

  it('create an index concurrently while other replicas wait', async () => {
    class AddIndex1700000005000 implements MigrationInterface {
      transaction = false as const;
      async up(q: QueryRunner): Promise<void> {
        await q.query('create table indexed (id int)');
        await q.query('select pg_sleep(0.3)'); // long enough for the other replicas to come
        await q.query('create index concurrently indexed_idx on indexed (id) where id > 0');
      }
      async down(q: QueryRunner): Promise<void> {
        await q.query('drop table indexed');
      }
    }
    const target = targetFor(database, [AddFleet1700000000000, AddIndex1700000005000]);
    const ran = await Promise.all([1, 2, 3].map(() => runMigrations(target)));
    expect(ran.flat()).toHaveLength(2);
  });

  it('run as the owner, with the names of the two other logins in settings', async () => {
    const seen: unknown[] = [];
    class Look1700000003000 implements MigrationInterface {
      async up(q: QueryRunner): Promise<void> {
        seen.push(await loginRoles(q), await q.query('select current_schema() as s, current_user::text as u'));
      }
      down(): Promise<void> {
        return Promise.resolve();
      }
    }
    await runMigrations(targetFor(database, [Look1700000003000]));
    expect(seen).toEqual([
      { service: `rmm_test_${SCHEMA}_service`, worker: `rmm_test_${SCHEMA}_worker` },
      [{ s: SCHEMA, u: `rmm_test_${SCHEMA}_owner` }],
    ]);
  });

  it('roll back one that fails and keep those before it', async () => {
    const target = targetFor(database, [AddFleet1700000000000, Breaks1700000002000]);
    await expect(runMigrations(target)).rejects.toThrow('division by zero');
    const tables = await admin(
      `select to_regclass('${SCHEMA}.half_made') as half, to_regclass('${SCHEMA}.device')::text as whole`,
    );
    expect(tables).toEqual([{ half: null, whole: `${SCHEMA}.device` }]);
    expect(await runMigrations(targetFor(database, [AddFleet1700000000000]))).toEqual([]);
  });

  it('run one again that did not get a lock in time', async () => {
    let runs = 0;
    class WaitsForLock1700000004000 implements MigrationInterface {
      async up(q: QueryRunner): Promise<void> {
        await q.query('create table locked (id int)');
        runs += 1;
        if (runs === 1) await q.query(`do $$ begin raise 'busy' using errcode = 'lock_not_available'; end $$`);
      }
      down(): Promise<void> {
        return Promise.resolve();
      }
    }
    const migrations = [AddFleet1700000000000, WaitsForLock1700000004000];
    const ran = ['AddFleet1700000000000', 'WaitsForLock1700000004000'];
    expect(await runMigrations(targetFor(database, migrations))).toEqual(ran);
    expect(runs).toBe(2);
  });

  it('can be reverted and run again', async () => {
    const target = targetFor(database, [AddFleet1700000000000, CountRuns1700000001000]);
    await runMigrations(target);
    await revertMigrations(target, 2);
    expect(await admin(`select to_regclass('${SCHEMA}.device') as t, to_regclass('${SCHEMA}.ran') as r`)).toEqual([
      { t: null, r: null },
    ]);
    expect(await runMigrations(target)).toHaveLength(2);
  });

  it('may change rows of tables with forced row-level security', async () => {
    class Rename1700000004000 implements MigrationInterface {
      async up(q: QueryRunner): Promise<void> {
        await q.query(`update device set name = 'missed'`);
        await withoutForcedRowSecurity(q, ['device'], () => q.query(`update device set name = 'renamed ' || name`));
      }
      down(): Promise<void> {
        return Promise.resolve();
      }
    }
    await runMigrations(targetFor(database, [AddFleet1700000000000]));
    await admin(`insert into ${SCHEMA}.device values (gen_random_uuid(), gen_random_uuid(), 'x', gen_random_uuid())`);
    await runMigrations(targetFor(database, [AddFleet1700000000000, Rename1700000004000]));
    expect(await admin(`select name from ${SCHEMA}.device`)).toEqual([{ name: 'renamed x' }]);
    const forced = await admin(
      `select relforcerowsecurity as f from pg_class where oid = '${SCHEMA}.device'::regclass`,
    );
    expect(forced).toEqual([{ f: true }]);
  });

  it('are required when the owner login is not set and one is missing', async () => {
    const options = optionsFor(database, { migrationsDatabaseUrl: undefined });
    await expect(Databases.open(options)).rejects.toThrow(StartRefused);
    await expect(Databases.open(options)).rejects.toThrow(
      /provisioning has migrations missing \(AddFleet1700000000000\)/,
    );
    await runMigrations(targetFor(database, [AddFleet1700000000000, CountRuns1700000001000]));
    const opened = await Databases.open(options); // a schema ahead of the code: a newer version runs too
    await opened.close();
  });

  it('migrates from the environment with logins that are only named, and reports what is missing', async () => {
    const target = targetFor(database, [AddFleet1700000000000]);
    const withoutPassword = (url: string) => Object.assign(new URL(url), { password: '' }).href;
    const env = {
      MIGRATIONS_DATABASE_URL: target.migrationsDatabaseUrl,
      DATABASE_URL: withoutPassword(target.databaseUrl),
      WORKER_DATABASE_URL: withoutPassword(target.workerDatabaseUrl),
    };
    const lines: string[] = [];
    const spies = [jest.spyOn(console, 'log'), jest.spyOn(console, 'error')];
    for (const spy of spies) spy.mockImplementation((line: string) => void lines.push(line));
    const exitCode = process.exitCode;
    await migrateFromEnvironment(SCHEMA, target.migrations, env);
    await migrateFromEnvironment(SCHEMA, target.migrations, env);
    await migrateFromEnvironment(SCHEMA, target.migrations, { DATABASE_URL: env.DATABASE_URL });
    const failed = process.exitCode;
    process.exitCode = exitCode;
    for (const spy of spies) spy.mockRestore();
    expect(lines).toEqual([
      `${SCHEMA}: ran AddFleet1700000000000`,
      `${SCHEMA}: up to date`,
      'Migrations need MIGRATIONS_DATABASE_URL, WORKER_DATABASE_URL',
    ]);
    expect(failed).toBe(1);
  });
});
