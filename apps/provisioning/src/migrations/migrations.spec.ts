import pg from 'pg';
import { revertMigrations, runMigrations, type SqlExecutor } from '@rmm/persistence';
import { countVisibleRows, entityProblems, rowSecurityProblems, untiedTenantTables } from '@rmm/persistence/testing';
import { startStores, type Stores, type TestDatabase } from '@rmm/testing-services';
import { ENTITIES } from '../entities.js';
import { AddExportRecords1795437100000 } from './1795437100000-AddExportRecords.js';
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
  });

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

  it('has the tables and columns that the entities declare', async () => {
    expect(await entityProblems(executor, 'provisioning', ENTITIES)).toEqual([]);
  });

  it('shows the service login no organization in system scope, which is of the platform login', async () => {
    await admin.query(
      `insert into organization (partner_id, name, name_key, slug) values (gen_random_uuid(), 'H', 'h', 'h')`,
    );
    const { service, worker } = database.urls.provisioning;
    const system = { 'rmm.scope': 'system', 'rmm.org_access': 'all' } as const;
    expect(await countVisibleRows(service, 'provisioning', 'organization', system)).toBe(0);
    const platform = { ...system, role: new URL(service).username };
    expect(await countVisibleRows(worker, 'provisioning', 'organization', platform)).toBeGreaterThan(0);
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

  it('computes keys of serial numbers and addresses that identify a machine, none of placeholders', async () => {
    const keyOf = async (name: string, json: unknown) =>
      (await admin.query(`SELECT ${name}($1) AS key`, [JSON.stringify(json)])).rows[0].key;
    const serials = {
      ' 5cg-1234 xyz': '5CG1234XYZ',
      'VMware-56 4d': 'VMWARE564D',
      'To be filled by O.E.M.': null,
      'Default string': null,
      '0000 0000': null,
      null: null,
      'A-1': null,
    };
    for (const [serialNumber, key] of Object.entries(serials)) {
      expect([serialNumber, await keyOf('device_serial_key', { serialNumber })]).toEqual([serialNumber, key]);
    }
    expect(await keyOf('device_serial_key', {})).toBeNull();
    const adapter = (macAddress: string | null, isPrimary?: boolean) => ({ macAddress, isPrimary });
    const lists: [object[], string | null][] = [
      [[adapter('A4-BB-6D-00-11-22'), adapter('a4:bb:6d:00:11:23', true)], 'a4bb6d001123'],
      [[adapter('02:42:ac:11:00:02', true), adapter('a4bb.6d00.1122')], 'a4bb6d001122'],
      [[adapter('00:00:00:00:00:00'), adapter(null), adapter('00:05:9A:3C:7A:00'), adapter('a4:bb')], null],
      [[], null],
    ];
    for (const [adapters, key] of lists) expect(await keyOf('device_mac_key', adapters)).toBe(key);
  });

  it('adds export records of the devices, reports, scripts and definitions that exist', async () => {
    await revertMigrations(target(), MIGRATIONS.length - MIGRATIONS.indexOf(AddExportRecords1795437100000));
    const { rows } = await admin.query(
      `WITH o AS (INSERT INTO organization (partner_id, name, name_key, slug) VALUES (gen_random_uuid(), 'E', 'e', 'e')
         RETURNING id, partner_id),
       d AS (INSERT INTO device (partner_id, org_id, hostname, os_type) SELECT partner_id, id, 'h', 'linux' FROM o
         RETURNING id, partner_id, org_id),
       f AS (INSERT INTO custom_field_definition (partner_id, field_key, name, name_key, type)
         SELECT partner_id, 'k', 'K', 'k', 'text' FROM o)
       SELECT id, partner_id, org_id FROM d`,
    );
    const [{ id, partner_id: partnerId, org_id: orgId }] = rows;
    for (const [table, columns] of Object.entries({
      device_hardware: `hardware) VALUES ($1, $2, $3, '{}')`,
      device_network: `adapters) VALUES ($1, $2, $3, '[]')`,
      device_software: `software, total) VALUES ($1, $2, $3, '[]', 0)`,
    })) {
      await admin.query(`INSERT INTO ${table} (device_id, partner_id, org_id, ${columns}`, [id, partnerId, orgId]);
    }
    await runMigrations(target());
    const added = await admin.query(
      `SELECT resource, org_id, device_id, reported FROM export_record WHERE partner_id = $1 ORDER BY resource`,
      [partnerId],
    );
    const ofDevice = { org_id: orgId, device_id: id, reported: true };
    expect(added.rows).toEqual([
      { resource: 'custom-fields', org_id: null, device_id: null, reported: true },
      { resource: 'device-inventory', ...ofDevice },
      { resource: 'device-relationships', ...ofDevice },
      { resource: 'device-software', ...ofDevice },
    ]);
    expect(await rowSecurityProblems(executor, 'provisioning')).toEqual([]);
  });

  it('reverts and runs again over existing rows', async () => {
    await revertMigrations(target(), MIGRATIONS.length);
    expect(await runMigrations(target())).toEqual(MIGRATIONS.map((migration) => migration.name));
    expect(await rowSecurityProblems(executor, 'provisioning')).toEqual([]);
    expect((await admin.query('select * from organization')).rows).toEqual([]);
  });
});
