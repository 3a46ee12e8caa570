import { randomUUID } from 'node:crypto';
import type { ExportRequest } from '@rmm/contracts';
import { actingPartnerKey } from '../../test/acting-callers.js';
import { exportRequest } from '../../test/export-pagination.js';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { FieldValuePagesRepository } from './field-value-pages.repository.js';

describe('FieldValuePagesRepository', () => {
  let database: ProvisioningTestDatabase;
  let repository: FieldValuePagesRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    repository = new FieldValuePagesRepository(database.tenants);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });

  const future = () => new Date(Date.now() + 60_000).toISOString();
  const list = async (over: Partial<ExportRequest> = {}) =>
    (await repository.list(exportRequest(partnerId, over), future())).rows;
  const define = async (owner: string | null, fieldKey: string, values: { os?: string; name?: string } = {}) => {
    const { rows } = await database.admin.query(
      `INSERT INTO custom_field_definition (partner_id, org_id, field_key, name, name_key, type, device_types)
       VALUES ($1, $2, $3, $4, 'x', 'text', $5) RETURNING id`,
      [partnerId, owner, fieldKey, values.name ?? fieldKey, values.os ? [values.os] : []],
    );
    return rows[0].id as string;
  };
  const snapshot = async () => {
    await database.admin.query('SELECT pg_sleep(0.002)');
    const { rows } = await database.admin.query('SELECT clock_timestamp() AS at');
    await database.admin.query('SELECT pg_sleep(0.002)');
    return (rows[0].at as Date).toISOString();
  };

  it('lists the values of defined fields, by the definition of the organization before that of the partner', async () => {
    const siteId = await database.createSite(partnerId, orgId);
    const deviceId = await database.createDevice(partnerId, orgId, {
      site_id: siteId,
      custom_fields: { rack: 'r1', owner: 'Ann', mac: 'x', undefined: 'y', count: 3 },
    });
    const other = await database.createOrganization(partnerId);
    const second = await database.createDevice(partnerId, other, { custom_fields: { rack: 'r2' } });
    const [rack, ownRack, count] = [
      await define(null, 'rack'),
      await define(orgId, 'rack', { name: 'Own rack' }),
      await define(null, 'count'),
    ];
    await define(null, 'mac', { os: 'macos' });
    const expected = [
      { id: `${deviceId}:${ownRack}`, name: 'Own rack', value: 'r1', siteId, orgId, deviceId },
      { id: `${deviceId}:${count}`, value: 3, fieldKey: 'count', type: 'text' },
      { id: `${second}:${rack}`, value: 'r2', orgId: other, siteId: null },
    ].sort((a, b) => (a.id < b.id ? -1 : 1));
    expect(await list()).toMatchObject(expected);
    expect((await list({ orgId: other })).map(({ id }) => id)).toEqual([`${second}:${rack}`]);
    expect((await list({ updatedSince: new Date(0).toISOString() })).map(({ id }) => id).sort()).toEqual(
      expected.map(({ id }) => id),
    );
    for (let n = 1; n < expected.length; n += 1) {
      const after = { id: expected[n - 1].id, orgId, updatedAt: new Date(0).toISOString() };
      expect((await list({ after, limit: 1 })).map(({ id }) => id)).toEqual([expected[n].id]);
    }
    expect(await list({ caller: actingPartnerKey(randomUUID()) })).toEqual([]);
  });

  it('lists values as changes when their device, their definition or its precedence changes', async () => {
    const ids = [
      await database.createDevice(partnerId, orgId, { custom_fields: { rack: '1' } }),
      await database.createDevice(partnerId, orgId, { custom_fields: { rack: '2' } }),
    ];
    const wide = await define(null, 'rack');
    let since = await snapshot();
    const changes = async () => {
      const rows = await list({ updatedSince: since });
      since = await snapshot();
      return rows.map(({ id }) => id);
    };
    expect(await changes()).toEqual([]);
    await database.admin.query(`UPDATE device SET custom_fields = '{"rack": "3"}' WHERE id = $1`, [ids[1]]);
    expect(await changes()).toEqual([`${ids[1]}:${wide}`]);
    await database.admin.query(`UPDATE custom_field_definition SET name = 'Rack' WHERE id = $1`, [wide]);
    expect(await changes()).toEqual(ids.map((id) => `${id}:${wide}`).sort());
    const own = await define(orgId, 'rack');
    expect(await changes()).toEqual(ids.map((id) => `${id}:${own}`).sort());
    await database.admin.query('DELETE FROM custom_field_definition WHERE id = $1', [own]);
    expect((await changes()).sort()).toEqual(ids.map((id) => `${id}:${wide}`).sort());
  });
});
