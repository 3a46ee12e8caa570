import { randomUUID } from 'node:crypto';
import type { ExportRequest } from '@rmm/contracts';
import { actingPartnerKey } from '../../test/acting-callers.js';
import { partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { DEVICES, ExportRepository, ORGANIZATIONS, SITES } from './export.repository.js';

describe('ExportRepository', () => {
  let database: ProvisioningTestDatabase;
  let repository: ExportRepository;
  let partnerId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    repository = new ExportRepository(database.tenants);
  });
  afterAll(() => database?.stop());
  beforeEach(() => (partnerId = randomUUID()));

  const buildRequest = (over: Partial<ExportRequest> = {}): ExportRequest => ({
    caller: actingPartnerKey(partnerId),
    orgId: null,
    snapshotAt: null,
    updatedSince: null,
    after: null,
    limit: 10,
    ...over,
  });
  const future = () => new Date(Date.now() + 60_000).toISOString();

  it('lists active organizations of the partner by id, up to the limit', async () => {
    const ids = [await database.createOrganization(partnerId), await database.createOrganization(partnerId)].sort();
    await database.createOrganization(partnerId, { status: 'suspended' });
    await database.createOrganization(randomUUID());
    const first = await repository.list(ORGANIZATIONS, buildRequest({ limit: 1 }), future());
    expect([first.rows.map(({ id }) => id), first.hasMore]).toEqual([ids.slice(0, 1), true]);
    const all = await repository.list(ORGANIZATIONS, buildRequest(), future());
    expect([all.rows.map(({ id }) => id), all.hasMore]).toEqual([ids, false]);
  });

  it('lists changes in order of their time after a position', async () => {
    const orgId = await database.createOrganization(partnerId);
    const [first, second] = [
      await database.createSite(partnerId, orgId, 'A'),
      await database.createSite(partnerId, orgId, 'B'),
    ];
    // Times have milliseconds: the change is later only when the clock has advanced since the second site was created.
    await database.admin.query('SELECT pg_sleep(0.002)');
    await database.admin.query(`UPDATE site SET name = 'A2' WHERE id = $1`, [first]);
    const request = buildRequest({ updatedSince: new Date(0).toISOString() });
    const { rows } = await repository.list<{ name: string }>(SITES, request, future());
    expect(rows.map(({ id, name }) => [id, name])).toEqual([
      [second, 'B'],
      [first, 'A2'],
    ]);
    const [{ id, updatedAt }] = rows;
    const after = { id, orgId, updatedAt: updatedAt.toISOString() };
    const next = await repository.list(SITES, { ...request, after }, future());
    expect(next.rows.map((row) => row.id)).toEqual([first]);
  });

  it('lists the devices of an organization or a site, without decommissioned ones and those of others', async () => {
    const [orgId, otherOrgId] = [
      await database.createOrganization(partnerId),
      await database.createOrganization(partnerId),
    ];
    const siteId = await database.createSite(partnerId, orgId);
    const at = await database.createDevice(partnerId, orgId, {
      site_id: siteId,
      hardware: { serialNumber: 'SN-1', model: 'M' },
      custom_fields: { assetTag: 'A-7', externalId: 12, other: 'x' },
      tags: ['a', 'b'],
    });
    const without = await database.createDevice(partnerId, orgId);
    const other = await database.createDevice(partnerId, otherOrgId);
    await database.createDevice(partnerId, orgId, { site_id: siteId, status: 'decommissioned' });
    await database.createDevice(partnerId, await database.createOrganization(partnerId, { status: 'churned' }));
    const idsOf = async (over: Partial<ExportRequest>) =>
      (await repository.list(DEVICES, buildRequest(over), future())).rows.map(({ id }) => id).sort();
    expect(await idsOf({})).toEqual([at, without, other].sort());
    expect(await idsOf({ orgId })).toEqual([at, without].sort());
    expect(await idsOf({ siteId })).toEqual([at]);
    expect(await idsOf({ siteId, orgId: otherOrgId })).toEqual([]);
    expect(await idsOf({ siteId, caller: actingPartnerKey(randomUUID()) })).toEqual([]);
    const since = new Date(0).toISOString();
    expect(await idsOf({ siteId, updatedSince: since })).toEqual([at]);
    expect(await idsOf({ orgId, updatedSince: since })).toEqual([at, without].sort());
    const { rows } = await repository.list(DEVICES, buildRequest({ siteId }), future());
    expect(rows).toMatchObject([
      {
        serialNumber: 'SN-1',
        manufacturer: null,
        assetTag: 'A-7',
        externalId: '12',
        inventoryId: null,
        tags: ['a', 'b'],
      },
    ]);
  });

  it('lists the first groups of a device with the number of all', async () => {
    const orgId = await database.createOrganization(partnerId);
    const id = await database.createDevice(partnerId, orgId);
    await database.admin.query(
      `WITH g AS (
         INSERT INTO device_group (partner_id, org_id, name, name_key)
         SELECT $1, $2, n::text, n::text FROM generate_series(1, 501) n RETURNING id)
       INSERT INTO device_group_member (group_id, device_id, partner_id, org_id) SELECT id, $3, $1, $2 FROM g`,
      [partnerId, orgId, id],
    );
    const { rows } = await repository.list<{ groupIds: string[]; groupTotal: number }>(
      DEVICES,
      buildRequest(),
      future(),
    );
    expect([rows[0].groupIds.length, rows[0].groupTotal]).toEqual([500, 501]);
  });

  it('returns no snapshot time while the partner has uncommitted changes', async () => {
    const orgId = await database.createOrganization(partnerId);
    expect(await repository.findSnapshotTime(partnerCaller(partnerId))).toBeInstanceOf(Date);
    const writer = await database.admin.connect();
    try {
      await writer.query('BEGIN');
      await writer.query(`UPDATE organization SET name = 'Changed' WHERE id = $1`, [orgId]);
      expect(await repository.findSnapshotTime(partnerCaller(partnerId))).toBeNull();
      await writer.query('COMMIT');
    } finally {
      writer.release();
    }
    expect(await repository.findSnapshotTime(partnerCaller(partnerId))).toBeInstanceOf(Date);
  });
});
