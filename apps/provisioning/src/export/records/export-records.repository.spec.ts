import { randomUUID } from 'node:crypto';
import { ProvisioningTestDatabase } from '../../../test/provisioning-test-database.js';
import { ExportRecordsRepository } from './export-records.repository.js';
import type { PublishedRecord } from './record-message.js';

describe('ExportRecordsRepository', () => {
  let database: ProvisioningTestDatabase;
  let partnerId: string;
  let orgId: string;
  const repository = new ExportRecordsRepository();

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });

  const at = (seconds: number) => new Date(Date.UTC(2026, 2, 1) + seconds * 1_000);
  const build = (over: Partial<PublishedRecord> = {}): PublishedRecord => ({
    ...{ resource: 'automations', id: randomUUID(), partnerId, orgId, siteId: null, deviceId: null },
    ...{ updatedAt: at(1), record: { name: 'A' } },
    ...over,
  });
  const store = (record: PublishedRecord) => database.worker.transaction((tx) => repository.store(tx, record));
  const remove = (record: PublishedRecord) => database.worker.transaction((tx) => repository.remove(tx, record));
  const read = async ({ id }: PublishedRecord) =>
    (await database.admin.query('SELECT * FROM export_record WHERE id = $1 AND partner_id = $2', [id, partnerId])).rows;

  it('stores the newest record whatever the order of arrival, and changes nothing for a repetition', async () => {
    const record = build();
    expect(await store({ ...record, updatedAt: at(2), record: { name: 'B' } })).toBe(true);
    const [stored] = await read(record);
    for (const other of [record, { ...record, updatedAt: at(2), record: { name: 'C' } }]) {
      expect(await store(other)).toBe(false);
    }
    expect(await read(record)).toEqual([stored]);
    expect(await store({ ...record, updatedAt: at(3), record: { name: 'D' } })).toBe(true);
    const [changed] = await read(record);
    expect(changed).toMatchObject({ record: { name: 'D' }, created_at: stored.created_at });
    expect(changed.updated_at > stored.updated_at).toBe(true);
  });

  it('keeps the newest of concurrent records', async () => {
    const record = build();
    const seconds = [5, 1, 9, 3, 7, 2, 8, 4, 6];
    await Promise.all(seconds.map((n) => store({ ...record, updatedAt: at(n), record: { name: `${n}` } })));
    expect(await read(record)).toMatchObject([{ record: { name: '9' } }]);
  });

  it('drops older records that arrive behind a deletion, until the row is purged', async () => {
    const record = build();
    await store(record);
    expect(await remove({ ...record, updatedAt: at(3), record: null })).toBe(true);
    expect(await store({ ...record, updatedAt: at(2) })).toBe(false);
    expect(await remove({ ...record, updatedAt: at(2), record: null })).toBe(false);
    expect(await read(record)).toMatchObject([{ record: null, deleted_at: expect.any(Date) }]);
    expect(await repository.purge(database.worker, 15, 10)).toBe(0);
    await database.admin.query(`UPDATE export_record SET deleted_at = now() - interval '16 days' WHERE id = $1`, [
      record.id,
    ]);
    expect(await repository.purge(database.worker, 15, 10)).toBe(1);
    expect(await read(record)).toEqual([]);
    const unknown = build({ record: null });
    expect(await remove(unknown)).toBe(true);
    expect(await store({ ...unknown, updatedAt: at(0), record: {} })).toBe(false);
    expect(await store({ ...unknown, updatedAt: at(4), record: {} })).toBe(true);
  });

  it('does not change the record of another partner with the same id', async () => {
    const record = build();
    await store(record);
    const foreign = randomUUID();
    const other = {
      ...record,
      partnerId: foreign,
      orgId: await database.createOrganization(foreign),
      updatedAt: at(9),
    };
    expect(await store({ ...other, record: { name: 'foreign' } })).toBe(true);
    expect(await read(record)).toMatchObject([{ record: { name: 'A' } }]);
  });

  it('finds tenants, sites and devices by their owner', async () => {
    const [siteId, deviceId] = [
      await database.createSite(partnerId, orgId),
      await database.createDevice(partnerId, orgId),
    ];
    const ended = await database.createDevice(partnerId, orgId, { status: 'decommissioned' });
    const find = (over: object) =>
      repository.findOwners(database.worker, { partnerId, orgId, siteId: null, deviceId: null, ...over });
    const all = { hasTenant: true, hasSite: true, hasDevice: true };
    expect(await find({})).toEqual(all);
    expect(await find({ siteId, deviceId })).toEqual(all);
    expect(await find({ partnerId: randomUUID() })).toMatchObject({ hasTenant: false });
    expect(await find({ orgId: randomUUID(), siteId })).toMatchObject({ hasTenant: false, hasSite: false });
    expect(await find({ deviceId: ended })).toMatchObject({ hasDevice: false });
    expect(await find({ orgId: await database.createOrganization(partnerId), siteId, deviceId })).toEqual({
      ...{ hasTenant: true, hasSite: false, hasDevice: false },
    });
    expect(await find({ orgId: null })).toMatchObject({ hasTenant: false });
    await database.admin.query(`INSERT INTO partner_directory (partner_id, status, version) VALUES ($1, 'active', 1)`, [
      partnerId,
    ]);
    expect(await find({ orgId: null })).toEqual(all);
  });

  it('stores the site of the device instead of that of the message', async () => {
    const siteId = await database.createSite(partnerId, orgId);
    const deviceId = await database.createDevice(partnerId, orgId, { site_id: siteId });
    const record = build({ resource: 'device-software', deviceId, siteId: null });
    await store(record);
    expect(await read(record)).toMatchObject([{ site_id: siteId, device_id: deviceId }]);
  });
});
