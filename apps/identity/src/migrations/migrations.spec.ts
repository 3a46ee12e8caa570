import pg from 'pg';
import { revertMigrations, runMigrations, type MigrationTarget } from '@rmm/persistence';
import { countVisibleRows, entityProblems, rowSecurityProblems, untiedTenantTables } from '@rmm/persistence/testing';
import { startStores, type Stores } from '@rmm/testing-services';
import { ENTITIES } from '../entities.js';
import { MIGRATIONS } from './index.js';

describe('the migrations of identity', () => {
  let stores: Stores;
  let target: MigrationTarget;
  let admin: pg.Client;

  beforeAll(async () => {
    stores = await startStores();
    const { adminUrl, urls } = await stores.createDatabase(['identity'] as const);
    const { owner, service, worker } = urls.identity;
    target = {
      schema: 'identity',
      migrationsDatabaseUrl: owner,
      databaseUrl: service,
      workerDatabaseUrl: worker,
      migrations: MIGRATIONS,
    };
    admin = new pg.Client({ connectionString: adminUrl, options: '-c search_path=identity' });
    await admin.connect();
  });

  afterAll(async () => {
    await admin.end();
    await stores.stop();
  });

  const executor = {
    query: async <Row>(sql: string, params?: readonly unknown[]) =>
      (await admin.query(sql, params as unknown[])).rows as Row[],
  };
  const tables = async () =>
    (
      await executor.query<{ name: string }>(
        `select tablename as name from pg_tables where schemaname = 'identity' and tablename not like 'rmm_%' order by 1`,
      )
    ).map(({ name }) => name);

  it('run once when two replicas start together', async () => {
    const ran = await Promise.all([runMigrations(target), runMigrations(target)]);
    expect(ran.map((names) => names.length).sort()).toEqual([0, MIGRATIONS.length]);
    expect(await tables()).toEqual(expect.arrayContaining(['partner', 'user_account', 'audit_entry', 'outbox']));
  });

  it('leave no table, grant or policy by which a tenant could read another tenant', async () => {
    expect(await rowSecurityProblems(executor, 'identity')).toEqual([]);
  });

  it('create the tables and columns that the entities declare', async () => {
    // read by libs/access alone
    const exempt = ['organization_erasure'];
    expect(await entityProblems(executor, 'identity', ENTITIES, exempt)).toEqual([]);
  });

  it('show the service login no partner and no user in system scope, which is of the platform login', async () => {
    await admin.query(`insert into partner (name, slug) values ('Hidden', 'hidden')`);
    await admin.query(`insert into user_account (email, name) values ('hidden@x.test', 'H')`);
    const system = { 'rmm.scope': 'system', 'rmm.org_access': 'all' } as const;
    const platform = { ...system, role: new URL(target.databaseUrl).username };
    for (const table of ['partner', 'user_account']) {
      expect(await countVisibleRows(target.databaseUrl, 'identity', table, system)).toBe(0);
      expect(await countVisibleRows(target.workerDatabaseUrl, 'identity', table, platform)).toBeGreaterThan(0);
    }
  });

  it('tie the organization of every row to its partner by a key', async () => {
    // an audit entry may be about an organization that the directory has not received yet
    const audited = ['audit_entry', 'audit_name', 'audit_name_salt'];
    expect(await untiedTenantTables(executor, 'identity', audited)).toEqual([]);
  });

  it('refuse memberships, roles, invitations and sessions whose partner does not own the organization', async () => {
    const [ids] = await executor.query<{ partner: string; org: string; user: string; role: string }>(
      `with partner as (insert into partner (name, slug) values ('A', 'tied-a'), ('B', 'tied-b') returning id, slug),
         org as (insert into organization_directory (org_id, partner_id, status, version)
           select gen_random_uuid(), id, 'active', 1 from partner where slug = 'tied-b' returning org_id),
         account as (insert into user_account (email, name) values ('tied@x.test', 'T') returning id),
         role as (insert into role (scope, name, is_system) values ('organization', 'Tied', true) returning id)
       select partner.id as partner, org.org_id as org, account.id as user, role.id as role
         from partner, org, account, role where partner.slug = 'tied-a'`,
    );
    const { partner, org, user, role } = ids;
    for (const [table, columns, values] of [
      ['organization_membership', 'user_id, role_id', [user, role]],
      ['role', 'scope, name', ['organization', 'Foreign']],
      [
        'invitation',
        'user_id, role_id, email, name, token_hash, mailed, expires_at',
        [user, role, 'tied@x.test', 'T', '\\x00', false, new Date()],
      ],
      [
        'session_family',
        'id, user_id, scope, mfa, method, auth_epoch, mfa_epoch, absolute_expires_at',
        [user, user, 'organization', false, 'password', 0, 0, new Date()],
      ],
      ['organization_security_policy', 'version', [1]],
    ] as const) {
      const numbers = values.map((_, index) => `$${index + 3}`).join();
      const insert = `insert into ${table} (partner_id, org_id, ${columns}) values ($1, $2, ${numbers})`;
      await expect(admin.query(insert, [partner, org, ...values])).rejects.toMatchObject({ code: '23503' });
    }
  });

  it('let no login change or delete an audit entry', async () => {
    for (const url of [target.databaseUrl, target.workerDatabaseUrl]) {
      const client = new pg.Client({ connectionString: url, options: '-c search_path=identity' });
      await client.connect();
      for (const sql of ['update audit_entry set action = $$x$$', 'delete from audit_entry', 'truncate audit_entry']) {
        await expect(client.query(sql)).rejects.toMatchObject({ code: '42501' });
      }
      await client.end();
    }
  });

  it('count members that are added and removed', async () => {
    const [{ partner }] = await executor.query<{ partner: string }>(
      `insert into partner (name, slug) values ('Counted', 'counted') returning id as partner`,
    );
    const add = (users: number) =>
      admin.query(
        `with role as (insert into role (scope, name, is_system) values ('partner', 'R', true) returning id),
           users as (insert into user_account (email, name) select gen_random_uuid() || '@x.test', 'N'
             from generate_series(1, $2::integer) returning id)
         insert into partner_membership (partner_id, user_id, role_id) select $1, users.id, role.id from users, role`,
        [partner, users],
      );
    const counted = async () =>
      (await executor.query<{ members: number }>('select members from member_count where owner_id = $1', [partner]))[0]
        ?.members;
    await add(3);
    expect(await counted()).toBe(3);
    await Promise.all([add(2), add(1)]);
    await admin.query('delete from partner_membership where id in (select id from partner_membership limit 4)');
    expect(await counted()).toBe(2);
  });

  it('can be reverted and run again with rows in place', async () => {
    await admin.query(`insert into partner (name, slug) values ('Acme', 'acme')`);
    await admin.query(
      `insert into audit_entry (id, sequence, timestamp, actor_type, action, resource_type, result, canonical, checksum, previous_checksum)
       values (gen_random_uuid(), 1, now(), 'system', 'x', 'y', 'success', '{}', 'a', 'b')`,
    );
    await revertMigrations(target, MIGRATIONS.length);
    expect(await tables()).toEqual([]);
    await runMigrations(target);
    expect(await rowSecurityProblems(executor, 'identity')).toEqual([]);
  });
});
