import pg from 'pg';
import { revertMigrations, runMigrations, type SqlExecutor } from '@rmm/persistence';
import { rowSecurityProblems, untiedTenantTables } from '@rmm/persistence/testing';
import { startStores, type Stores, type TestDatabase } from '@rmm/testing-services';
import { MIGRATIONS } from './index.js';

describe('InitialSchema', () => {
  let stores: Stores;
  let database: TestDatabase<'provisioning'>;
  let admin: pg.Client;

  beforeAll(async () => {
    stores = await startStores();
    database = await stores.createDatabase(['provisioning']);
    admin = new pg.Client({ connectionString: database.adminUrl, options: '-c search_path=provisioning' });
    await admin.connect();
    await runMigrations(target());
  }, 60_000);

  afterAll(async () => {
    await admin?.end();
    await stores?.stop();
  });

  const target = () => {
    const { owner, service, worker } = database.urls.provisioning;
    return {
      schema: 'provisioning',
      migrationsDatabaseUrl: owner,
      databaseUrl: service,
      workerDatabaseUrl: worker,
      migrations: MIGRATIONS,
    };
  };
  const executor: SqlExecutor = {
    query: async (sql, params) => (await admin.query(sql, params as unknown[])).rows as never,
  };

  it('has row-level security, policies and grants on every table', async () => {
    expect(await rowSecurityProblems(executor, 'provisioning')).toEqual([]);
  });

  it('ties the organization of every row to its partner by a key', async () => {
    expect(await untiedTenantTables(executor, 'provisioning')).toEqual([]);
  });

  it('rejects a site, link or device whose partner is not the partner of its organization', async () => {
    const { rows } = await admin.query(
      `insert into organization (partner_id, name, name_key, slug) values (gen_random_uuid(), 'A', 'a', 'a') returning id`,
    );
    const foreign = (table: string, columns: string, values: string) =>
      admin.query(`insert into ${table} (partner_id, org_id, ${columns}) values (gen_random_uuid(), $1, ${values})`, [
        rows[0].id,
      ]);
    await expect(foreign('site', 'name, name_key', `'S', 's'`)).rejects.toMatchObject({ code: '23503' });
    await expect(foreign('external_link', 'system, external_id', `'csv', '1'`)).rejects.toMatchObject({
      code: '23503',
    });
    await expect(foreign('device', 'hostname, os_type', `'h', 'linux'`)).rejects.toMatchObject({ code: '23503' });
    await expect(foreign('device_group', 'name, name_key', `'G', 'g'`)).rejects.toMatchObject({ code: '23503' });
  });

  it('rejects a state, report or group membership whose owner is not the owner of its device', async () => {
    const insertOrganization = async (slug: string) =>
      (
        await admin.query(
          `INSERT INTO organization (partner_id, name, name_key, slug) VALUES (gen_random_uuid(), 'A', 'a', $1)
           RETURNING id, partner_id`,
          [slug],
        )
      ).rows[0];
    const [own, other] = [await insertOrganization('own'), await insertOrganization('other')];
    const { rows } = await admin.query(
      `INSERT INTO device (partner_id, org_id, hostname, os_type) VALUES ($1, $2, 'h', 'linux') RETURNING id`,
      [own.partner_id, own.id],
    );
    const groups = await admin.query(
      `INSERT INTO device_group (partner_id, org_id, name, name_key) VALUES ($1, $2, 'G', 'g') RETURNING id`,
      [other.partner_id, other.id],
    );
    const columns: Record<string, [string, string]> = {
      device_state: ['status', `'offline'`],
      device_hardware: ['hardware', `'{}'`],
      device_disk: ['disks', `'[]'`],
      device_network: ['adapters', `'[]'`],
      device_software: ['software, total', `'[]', 0`],
      device_posture: ['collected_at', 'now()'],
      device_group_member: ['group_id', `'${groups.rows[0].id}'`],
    };
    for (const [table, [names, values]] of Object.entries(columns)) {
      for (const [partnerId, orgId] of [
        [other.partner_id, own.id],
        [other.partner_id, other.id],
      ]) {
        const insert = `INSERT INTO ${table} (device_id, partner_id, org_id, ${names}) VALUES ($1, $2, $3, ${values})`;
        await expect(admin.query(insert, [rows[0].id, partnerId, orgId])).rejects.toMatchObject({ code: '23503' });
      }
    }
  });

  it('reverts and runs again over existing rows', async () => {
    await revertMigrations(target(), MIGRATIONS.length);
    expect(await runMigrations(target())).toEqual(MIGRATIONS.map((migration) => migration.name));
    expect(await rowSecurityProblems(executor, 'provisioning')).toEqual([]);
    expect((await admin.query('select * from organization')).rows).toEqual([]);
  });
});
