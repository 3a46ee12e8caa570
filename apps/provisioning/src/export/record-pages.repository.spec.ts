import { randomUUID } from 'node:crypto';
import type { ExportRequest } from '@rmm/contracts';
import { actingPartnerKey } from '../../test/acting-callers.js';
import { exportRequest, publishRecord } from '../../test/export-pagination.js';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import {
  CONFIGURATION_POLICIES,
  CUSTOM_FIELDS,
  DEVICE_INVENTORY,
  DEVICE_RELATIONSHIPS,
  DEVICE_SOFTWARE,
  RecordPagesRepository,
  SCRIPTS,
  type RecordResource,
} from './record-pages.repository.js';

describe('RecordPagesRepository', () => {
  let database: ProvisioningTestDatabase;
  let repository: RecordPagesRepository;
  let partnerId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    repository = new RecordPagesRepository(database.tenants);
  });
  afterAll(() => database?.stop());
  beforeEach(() => (partnerId = randomUUID()));

  const future = () => new Date(Date.now() + 60_000).toISOString();
  const list = async (resource: RecordResource, over: Partial<ExportRequest> = {}) =>
    (await repository.list<Record<string, unknown>>(resource, exportRequest(partnerId, over), future())).rows;
  const pairs = (rows: { id: string; orgId: string }[]) => rows.map(({ id, orgId }) => `${id} ${orgId}`);
  const createScript = async (orgId: string | null, content = 'df') => {
    const { rows } = await database.admin.query(
      `INSERT INTO script (id, partner_id, org_id, name, name_key, os_types, language, content, run_as, timeout_seconds,
         version, definition_sha256)
       VALUES (gen_random_uuid(), $1, $2, 'S', gen_random_uuid()::text, '{linux}', 'bash', $3, 'system', 300, 1, repeat('0', 64))
       RETURNING id`,
      [partnerId, orgId, content],
    );
    return rows[0].id as string;
  };
  const now = async () => (await database.admin.query(`SELECT clock_timestamp() AS at`)).rows[0].at as Date;
  const pause = () => database.admin.query('SELECT pg_sleep(0.002)');

  it('repeats records of the partner once for each visible organization, by (id, orgId)', async () => {
    const orgIds = [
      await database.createOrganization(partnerId),
      await database.createOrganization(partnerId),
      await database.createOrganization(partnerId),
    ];
    await database.createOrganization(partnerId, { status: 'suspended' });
    const wide = [
      await publishRecord(database, { partnerId, resource: 'configuration-policies' }),
      await publishRecord(database, { partnerId, resource: 'configuration-policies' }),
    ];
    const own = await publishRecord(database, { partnerId, resource: 'configuration-policies', orgId: orgIds[1] });
    await publishRecord(database, { partnerId, resource: 'automations' });
    await publishRecord(database, { partnerId: randomUUID(), resource: 'configuration-policies' });
    const expected = [...wide.flatMap((id) => orgIds.map((orgId) => `${id} ${orgId}`)), `${own} ${orgIds[1]}`].sort();
    expect(pairs(await list(CONFIGURATION_POLICIES))).toEqual(expected);
    const since = { updatedSince: new Date(0).toISOString() };
    expect(pairs(await list(CONFIGURATION_POLICIES, since)).sort()).toEqual(expected);
    const one = expected.filter((pair) => pair.endsWith(orgIds[1]));
    expect(pairs(await list(CONFIGURATION_POLICIES, { orgId: orgIds[1] }))).toEqual(one);
    expect(pairs(await list(CONFIGURATION_POLICIES, { ...since, orgId: orgIds[1] })).sort()).toEqual(one);
    for (let n = 0; n < expected.length; n += 1) {
      const [id, orgId] = (expected[n - 1] ?? ' ').split(' ');
      const after = n === 0 ? null : { id, orgId, updatedAt: new Date(0).toISOString() };
      const { rows, hasMore } = await repository.list(
        CONFIGURATION_POLICIES,
        exportRequest(partnerId, { after, limit: 1 }),
        future(),
      );
      expect([pairs(rows), hasMore]).toEqual([[expected[n]], n < expected.length - 1]);
    }
  });

  it('lists the records of the partner as changes of an organization that is new or visible again', async () => {
    const first = await database.createOrganization(partnerId);
    const suspended = await database.createOrganization(partnerId);
    const id = await publishRecord(database, { partnerId, resource: 'configuration-policies' });
    await database.admin.query(`UPDATE organization SET status = 'suspended' WHERE id = $1`, [suspended]);
    await pause();
    const since = (await now()).toISOString();
    await pause();
    expect(await list(CONFIGURATION_POLICIES, { updatedSince: since })).toEqual([]);
    await database.admin.query(`UPDATE organization SET name = 'Renamed' WHERE id = $1`, [first]);
    expect(await list(CONFIGURATION_POLICIES, { updatedSince: since })).toEqual([]);
    await database.admin.query(`UPDATE organization SET status = 'active' WHERE id = $1`, [suspended]);
    await pause();
    const added = await database.createOrganization(partnerId);
    const changes = [`${id} ${suspended}`, `${id} ${added}`];
    expect(pairs(await list(CONFIGURATION_POLICIES, { updatedSince: since }))).toEqual(changes);
    const [{ updatedAt, orgId }] = await list(CONFIGURATION_POLICIES, { updatedSince: since, limit: 1 });
    const after = { id, orgId, updatedAt: updatedAt.toISOString() };
    expect(pairs(await list(CONFIGURATION_POLICIES, { updatedSince: since, after }))).toEqual(changes.slice(1));
  });

  it.each([1, 3, 7])('lists the records of the partner of organizations of one time in pages of %d', async (limit) => {
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      ids.push(await publishRecord(database, { partnerId, resource: 'configuration-policies' }));
    }
    await pause();
    const updatedSince = (await now()).toISOString();
    await pause();
    const { rows } = await database.admin.query<{ id: string; at: Date }>(
      `INSERT INTO organization (partner_id, name, name_key, slug) SELECT $1, 'O', 'o', 'o-' || n FROM generate_series(1, 6) n
       RETURNING id, visible_at AS at`,
      [partnerId],
    );
    // Two of one time, four of another, with a record that changed between them and one after both.
    const [early, late] = [new Date(rows[0].at.getTime() + 10), new Date(rows[0].at.getTime() + 20)];
    const stamps = new Map(rows.map((row, n) => [row.id, n < 2 ? early : late]));
    await database.admin.query(`
      SET session_replication_role = replica;
      UPDATE organization SET visible_at = '${early.toISOString()}' WHERE id IN ('${rows[0].id}', '${rows[1].id}');
      UPDATE organization SET visible_at = '${late.toISOString()}'
       WHERE partner_id = '${partnerId}' AND id NOT IN ('${rows[0].id}', '${rows[1].id}');
      UPDATE export_record SET updated_at = '${new Date(early.getTime() + 5).toISOString()}' WHERE id = '${ids[0]}';
      UPDATE export_record SET updated_at = '${new Date(late.getTime() + 5).toISOString()}' WHERE id = '${ids[1]}';
      SET session_replication_role = DEFAULT`);
    const changedAt = new Map([
      [ids[0], new Date(early.getTime() + 5)],
      [ids[1], new Date(late.getTime() + 5)],
    ]);
    const expected = rows
      .flatMap(({ id: orgId }) =>
        ids.map((id) => {
          const [visible, changed] = [stamps.get(orgId) as Date, changedAt.get(id)];
          return `${(changed && changed > visible ? changed : visible).toISOString()} ${id} ${orgId}`;
        }),
      )
      .sort();
    const read: string[] = [];
    for (let after: ExportRequest['after'] = null, more = true; more;) {
      const request = exportRequest(partnerId, { updatedSince, after, limit });
      const page = await repository.list(CONFIGURATION_POLICIES, request, future());
      read.push(...page.rows.map(({ id, orgId, updatedAt }) => `${updatedAt.toISOString()} ${id} ${orgId}`));
      const last = page.rows.at(-1);
      after = last ? { id: last.id, orgId: last.orgId, updatedAt: last.updatedAt.toISOString() } : null;
      more = page.hasMore;
    }
    expect(read).toEqual(expected);
  });

  it('derives inventory, software and relationships from the reports of agents until a newer record is published', async () => {
    const orgId = await database.createOrganization(partnerId);
    const siteId = await database.createSite(partnerId, orgId);
    const deviceId = await database.createDevice(partnerId, orgId, { site_id: siteId });
    expect(await list(DEVICE_INVENTORY)).toEqual([]);
    expect(await list(DEVICE_RELATIONSHIPS)).toMatchObject([{ id: deviceId, siteId, adapters: null }]);
    const owner = [deviceId, partnerId, orgId];
    const report = (sql: string) => database.admin.query(sql, owner);
    await report(
      `INSERT INTO device_network (device_id, partner_id, org_id, adapters) VALUES ($1, $2, $3, '[{"interfaceName": "e"}]')`,
    );
    await report(
      `INSERT INTO device_software (device_id, partner_id, org_id, software, total) VALUES ($1, $2, $3, '[{"name": "A"}]', 7)`,
    );
    const adapters = [{ interfaceName: 'e' }];
    expect(await list(DEVICE_INVENTORY)).toMatchObject([
      { id: deviceId, deviceId, adapters, hardware: null, record: null },
    ]);
    expect(await list(DEVICE_SOFTWARE, { siteId })).toMatchObject([{ software: [{ name: 'A' }], total: 7 }]);

    const published = { partnerId, orgId, deviceId, resource: 'device-software' as const };
    const past = new Date(Date.now() - 60_000);
    await publishRecord(database, { ...published, id: deviceId, updatedAt: past, record: { a: 1 } });
    expect(await list(DEVICE_SOFTWARE)).toMatchObject([{ id: deviceId, record: null }]);
    await publishRecord(database, { ...published, id: deviceId, record: { a: 2 } });
    expect(await list(DEVICE_SOFTWARE)).toMatchObject([{ id: deviceId, siteId, record: { a: 2 }, software: null }]);
    await pause();
    await report(`UPDATE device_software SET software = '[]' WHERE device_id = $1 AND partner_id = $2 AND org_id = $3`);
    expect(await list(DEVICE_SOFTWARE)).toMatchObject([{ id: deviceId, record: null, software: [] }]);
    await publishRecord(database, { ...published, id: deviceId, record: { a: 3 } });
    await pause();
    await publishRecord(database, { ...published, id: deviceId, record: null });
    expect(await list(DEVICE_SOFTWARE)).toMatchObject([{ id: deviceId, record: null, software: [] }]);
  });

  it('lists the newest of several records of one device, and an older one again when that is deleted', async () => {
    const orgId = await database.createOrganization(partnerId);
    const deviceId = await database.createDevice(partnerId, orgId);
    const base = { partnerId, orgId, deviceId, resource: 'device-inventory' as const };
    const at = (seconds: number) => new Date(Date.now() - 60_000 + seconds * 1_000);
    const older = await publishRecord(database, { ...base, updatedAt: at(1), record: { n: 1 } });
    const newer = await publishRecord(database, { ...base, updatedAt: at(2), record: { n: 2 } });
    expect((await list(DEVICE_INVENTORY)).map(({ id }) => id)).toEqual([newer]);
    await pause();
    const since = (await now()).toISOString();
    await pause();
    await publishRecord(database, { ...base, id: newer, updatedAt: at(3), record: null });
    expect((await list(DEVICE_INVENTORY)).map(({ id }) => id)).toEqual([older]);
    expect((await list(DEVICE_INVENTORY, { updatedSince: since })).map(({ id }) => id)).toEqual([older]);
  });

  it('stamps the records of a device that moves, and lists none of a decommissioned one', async () => {
    const orgId = await database.createOrganization(partnerId);
    const siteId = await database.createSite(partnerId, orgId);
    const deviceId = await database.createDevice(partnerId, orgId, { hardware: { model: 'M' } });
    await pause();
    const since = (await now()).toISOString();
    await pause();
    await database.admin.query('UPDATE device SET site_id = $2 WHERE id = $1', [deviceId, siteId]);
    for (const resource of [DEVICE_INVENTORY, DEVICE_RELATIONSHIPS]) {
      expect(await list(resource, { updatedSince: since, siteId })).toMatchObject([{ id: deviceId, siteId }]);
    }
    await database.admin.query('UPDATE device SET decommissioned_at = now() WHERE id = $1', [deviceId]);
    for (const resource of [DEVICE_INVENTORY, DEVICE_RELATIONSHIPS])
      expect(await list(resource, { siteId })).toEqual([]);
  });

  it('stamps the inventory of a device that loses its hardware', async () => {
    const orgId = await database.createOrganization(partnerId);
    const deviceId = await database.createDevice(partnerId, orgId, { hardware: { model: 'M' } });
    await pause();
    const since = (await now()).toISOString();
    await pause();
    await database.admin.query('DELETE FROM device_hardware WHERE device_id = $1', [deviceId]);
    expect(await list(DEVICE_INVENTORY, { updatedSince: since })).toMatchObject([{ id: deviceId, hardware: null }]);
  });

  it('lists scripts and definitions as they are, cut after one character more than is exported', async () => {
    const orgId = await database.createOrganization(partnerId);
    const long = await createScript(orgId, 'x'.repeat(20_000));
    const wide = await createScript(null);
    const rows = await list(SCRIPTS);
    expect(new Map(rows.map((row) => [row.id, [String(row['content']).length, row.isPartnerWide]]))).toEqual(
      new Map([
        [long, [12_289, false]],
        [wide, [2, true]],
      ]),
    );
    await database.admin.query('DELETE FROM script WHERE id = $1', [wide]);
    expect((await list(SCRIPTS)).map(({ id }) => id)).toEqual([long]);
    const { rows: definitions } = await database.admin.query(
      `INSERT INTO custom_field_definition (partner_id, field_key, name, name_key, type, options)
       VALUES ($1, 'rack', 'Rack', 'rack', 'dropdown', '{a,b}') RETURNING id`,
      [partnerId],
    );
    expect(await list(CUSTOM_FIELDS)).toMatchObject([
      { id: definitions[0].id, orgId, fieldKey: 'rack', options: ['a', 'b'], record: null, isPartnerWide: true },
    ]);
    await database.admin.query('DELETE FROM custom_field_definition WHERE id = $1', [definitions[0].id]);
    expect(await list(CUSTOM_FIELDS)).toEqual([]);
  });

  it('ends a page before it is too large, and goes on behind it', async () => {
    const orgId = await database.createOrganization(partnerId);
    for (let n = 0; n < 5; n += 1) {
      await publishRecord(database, {
        partnerId,
        orgId,
        resource: 'automations',
        record: { name: randomUUID().repeat(6_000) },
      });
    }
    const resource = { ...CONFIGURATION_POLICIES, name: 'automations' };
    const first = await repository.list(resource, exportRequest(partnerId), future());
    expect([first.rows.length, first.hasMore]).toEqual([4, true]);
    const [last] = first.rows.slice(-1);
    const after = { id: last.id, orgId, updatedAt: last.updatedAt.toISOString() };
    const rest = await repository.list(resource, exportRequest(partnerId, { after }), future());
    expect([rest.rows.length, rest.hasMore]).toEqual([1, false]);
  });

  it('lists nothing of another partner and of organizations that a caller has not selected', async () => {
    const orgId = await database.createOrganization(partnerId);
    await publishRecord(database, { partnerId, resource: 'configuration-policies', orgId });
    await publishRecord(database, { partnerId, resource: 'configuration-policies' });
    expect(await list(CONFIGURATION_POLICIES, { caller: actingPartnerKey(randomUUID()), orgId })).toEqual([]);
    const none = actingPartnerKey(partnerId);
    none.tenant = { ...none.tenant, orgAccess: 'selected', orgIds: [randomUUID()] };
    expect(await list(CONFIGURATION_POLICIES, { caller: none })).toEqual([]);
  });
});
