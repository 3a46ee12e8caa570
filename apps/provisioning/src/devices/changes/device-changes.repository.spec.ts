import { randomUUID } from 'node:crypto';
import type { TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
} from '../../../test/provisioning-test-database.js';
import { DeviceChangesRepository, type ChangeableFields } from './device-changes.repository.js';

describe('DeviceChangesRepository', () => {
  const repository = new DeviceChangesRepository();
  const partnerId = randomUUID();
  let database: ProvisioningTestDatabase;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    orgId = await database.createOrganization(partnerId);
  }, 120_000);
  afterAll(() => database?.stop());

  const run = <T>(work: (tx: TenantTransaction) => Promise<T>, by = partnerCaller(partnerId)) =>
    database.tenants.transaction(by, work);
  const lock = (id: string, by = partnerCaller(partnerId)) => run((tx) => repository.lock(tx, by, id), by);
  const change = (id: string, changes: Partial<ChangeableFields>) =>
    run(async (tx) => {
      const { displayName, siteId, tags, status } = await repository.lock(tx, partnerCaller(partnerId), id);
      await repository.change(tx, id, { ...{ displayName, siteId, tags, status }, ...changes });
    });
  const addGroup = async (siteId: string | null, deviceId: string) => {
    const { rows } = await database.admin.query<{ id: string }>(
      `WITH added AS (
         INSERT INTO device_group (partner_id, org_id, site_id, name, name_key)
         VALUES ($1, $2, $3, $4::text, $4::text) RETURNING id)
       INSERT INTO device_group_member (group_id, device_id, partner_id, org_id)
       SELECT id, $5, $1, $2 FROM added RETURNING group_id AS id`,
      [partnerId, orgId, siteId, randomUUID(), deviceId],
    );
    return rows[0]?.id;
  };

  it('reads a device with its state and groups', async () => {
    const id = await database.createDevice(partnerId, orgId, { hostname: 'alpha', tags: ['pc'] });
    const group = await addGroup(null, id);
    expect(await lock(id)).toEqual({
      ...{ id, orgId, partnerId, hostname: 'alpha', displayName: null, siteId: null, tags: ['pc'] },
      ...{ status: 'online', lastSeenAt: null, version: '1', groupIds: [group] },
    });
  });

  it('locks no device of another tenant, an inactive organization or an unknown id', async () => {
    const id = await database.createDevice(partnerId, orgId);
    await expect(lock(id, partnerCaller(randomUUID()))).rejects.toThrow(NotFoundError);
    const neighbor = await database.createOrganization(partnerId);
    await expect(lock(id, organizationCaller(partnerId, neighbor))).rejects.toThrow(NotFoundError);
    await expect(lock(randomUUID())).rejects.toThrow(NotFoundError);
    const suspended = await database.createOrganization(partnerId, { status: 'suspended' });
    await expect(lock(await database.createDevice(partnerId, suspended))).rejects.toThrow(NotFoundError);
  });

  it('stores the fields and raises the version', async () => {
    const id = await database.createDevice(partnerId, orgId, { display_name: 'Old', tags: ['pc'] });
    await change(id, { displayName: 'Reception', tags: ['front'] });
    expect(await lock(id)).toMatchObject({ displayName: 'Reception', tags: ['front'], status: 'online', version: '2' });
  });

  it('loses none of the changes that run at the same time', async () => {
    const id = await database.createDevice(partnerId, orgId);
    const changes: Partial<ChangeableFields>[] = [{ displayName: 'A' }, { tags: ['b'] }, { status: 'maintenance' }];
    await Promise.all(changes.map((each) => change(id, each)));
    expect(await lock(id)).toMatchObject({ displayName: 'A', tags: ['b'], status: 'maintenance', version: '4' });
  });

  it('leaves the groups of the former site, and no others', async () => {
    const [from, to] = [
      await database.createSite(partnerId, orgId, 'From'),
      await database.createSite(partnerId, orgId, 'To'),
    ];
    const id = await database.createDevice(partnerId, orgId, { site_id: from });
    await addGroup(from, id);
    const ofOrganization = await addGroup(null, id);
    await change(id, { siteId: to });
    expect(await lock(id)).toMatchObject({ siteId: to, groupIds: [ofOrganization] });
    await addGroup(to, id);
    await change(id, { siteId: null });
    expect(await lock(id)).toMatchObject({ siteId: null, groupIds: [ofOrganization] });
  });

  it('keeps the offline check of a device that is online only', async () => {
    const id = await database.createDevice(partnerId, orgId);
    const hasCheck = async () => {
      const { rows } = await database.admin.query<{ due: boolean }>(
        'SELECT offline_check_at IS NOT NULL AS due FROM device_state WHERE device_id = $1',
        [id],
      );
      return rows[0]?.due;
    };
    await change(id, { displayName: 'A' });
    expect(await hasCheck()).toBe(true);
    await change(id, { status: 'maintenance' });
    expect(await hasCheck()).toBe(false);
  });
});
