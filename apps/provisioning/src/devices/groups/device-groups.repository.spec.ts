import { randomUUID } from 'node:crypto';
import { NotFoundError } from '@rmm/service-kit';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
  TEST_SECRETS,
} from '../../../test/provisioning-test-database.js';
import { DeviceGroupsRepository } from './device-groups.repository.js';

const ALL = { groupIds: null, siteIds: null };

describe('DeviceGroupsRepository', () => {
  let database: ProvisioningTestDatabase;
  let groups: DeviceGroupsRepository;
  let partnerId: string;
  let orgId: string;
  let siteId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    groups = new DeviceGroupsRepository(database.tenants, TEST_SECRETS);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
    siteId = await database.createSite(partnerId, orgId);
  });

  const transaction = <T>(work: Parameters<typeof database.tenants.transaction<T>>[1]) =>
    database.tenants.transaction(partnerCaller(partnerId), work);
  const create = (name: string, of: string | null = null) =>
    transaction((tx) => groups.create(tx, { partnerId, orgId, siteId: of, name, description: null }));
  const names = async (caller = partnerCaller(partnerId), visible: Parameters<typeof groups.list>[2] = ALL) =>
    (await groups.list(caller, {}, visible, { page: 1, limit: 10 })).rows.map(({ name }) => name);

  it('lists the groups of the tenant within the restriction', async () => {
    const wide = await create('Wide');
    const older = `UPDATE device_group SET created_at = created_at - interval '1 s' WHERE id = $1`;
    await database.admin.query(older, [wide.id]);
    await create('Sited', siteId);
    expect(await names()).toEqual(['Sited', 'Wide']);
    expect(await names(organizationCaller(partnerId, orgId))).toEqual(['Sited', 'Wide']);
    expect(await names(partnerCaller(partnerId), { groupIds: [wide.id], siteIds: null })).toEqual(['Wide']);
    expect(await names(partnerCaller(partnerId), { groupIds: null, siteIds: [siteId] })).toEqual(['Sited']);
    expect(await names(partnerCaller(partnerId), { groupIds: [], siteIds: null })).toEqual([]);
    expect(await names(partnerCaller(randomUUID()))).toEqual([]);
  });

  it('hides the groups of an inactive organization', async () => {
    const { id } = await create('Hidden');
    await database.admin.query(`UPDATE organization SET status = 'suspended' WHERE id = $1`, [orgId]);
    await expect(groups.get(partnerCaller(partnerId), id)).rejects.toThrow(NotFoundError);
    expect(await names()).toEqual([]);
  });

  it('changes and counts members, also of some sites only', async () => {
    const group = await create('Members');
    const caller = partnerCaller(partnerId);
    const sited = await database.createDevice(partnerId, orgId, { site_id: siteId });
    const free = await database.createDevice(partnerId, orgId);
    await transaction((tx) => groups.changeMembers(tx, group, { added: [sited, free], removed: [] }));
    const count = async (siteIds: string[] | null) =>
      (await groups.countDevices(caller, [group.id], siteIds)).get(group.id);
    expect([await count(null), await count([siteId]), await count([])]).toEqual([2, 1, undefined]);
    const locked = await transaction((tx) => groups.lockMembers(tx, group, [randomUUID()]));
    expect(locked.map(({ id, isMember }) => [id, isMember])).toEqual([sited, free].sort().map((id) => [id, true]));
    expect(await transaction((tx) => groups.listOverfilled(tx, [sited, free], 0))).toHaveLength(2);
    await transaction((tx) => groups.changeMembers(tx, group, { added: [], removed: [sited] }));
    expect(await count(null)).toBe(1);
  });

  it('adds no device of another organization', async () => {
    const group = await create('Own');
    const other = await database.createOrganization(partnerId);
    const foreign = await database.createDevice(partnerId, other);
    expect(await transaction((tx) => groups.lockMembers(tx, group, [foreign]))).toEqual([]);
    const added = transaction((tx) => groups.changeMembers(tx, group, { added: [foreign], removed: [] }));
    await expect(added).rejects.toMatchObject({ code: '23503' });
  });

  it('deletes the groups of a site alone', async () => {
    await create('Wide');
    await create('Sited', siteId);
    const deleted = await transaction((tx) => groups.deleteOfSite(tx, orgId, siteId));
    expect(deleted.map(({ name }) => name)).toEqual(['Sited']);
    expect(await names()).toEqual(['Wide']);
  });
});
