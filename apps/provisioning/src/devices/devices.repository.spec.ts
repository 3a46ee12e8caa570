import { randomUUID } from 'node:crypto';
import { NotFoundError } from '@rmm/service-kit';
import { partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { DevicesRepository, type DeviceFilter } from './devices.repository.js';

describe('DevicesRepository', () => {
  let database: ProvisioningTestDatabase;
  let devices: DevicesRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    devices = new DevicesRepository(database.tenants, database.worker);
  }, 60_000);
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });

  const hostnames = async (filter: Partial<DeviceFilter> = {}) => {
    const all = { includeDecommissioned: false, siteIds: null, isGroupRestricted: false, ...filter };
    const { rows } = await devices.list(partnerCaller(partnerId), all, { page: 1, limit: 10 });
    return rows.map(({ hostname }) => hostname).sort();
  };

  it('filters by status, site and text, and omits decommissioned devices by default', async () => {
    const siteId = await database.createSite(partnerId, orgId);
    await database.createDevice(partnerId, orgId, { hostname: 'a', site_id: siteId, display_name: 'Front 100%' });
    await database.createDevice(partnerId, orgId, { hostname: 'b', status: 'offline' });
    await database.createDevice(partnerId, orgId, { hostname: 'old', status: 'decommissioned' });
    expect(await hostnames()).toEqual(['a', 'b']);
    expect(await hostnames({ includeDecommissioned: true })).toEqual(['a', 'b', 'old']);
    expect(await hostnames({ status: 'decommissioned' })).toEqual(['old']);
    expect(await hostnames({ status: 'offline' })).toEqual(['b']);
    expect(await hostnames({ siteId })).toEqual(['a']);
    expect(await hostnames({ siteIds: [siteId] })).toEqual(['a']);
    expect(await hostnames({ siteIds: [] })).toEqual([]);
    expect(await hostnames({ search: '0%' })).toEqual(['a']);
    expect(await hostnames({ isGroupRestricted: true })).toEqual([]);
  });

  it('throws NotFoundError for a foreign device and a device of an inactive organization', async () => {
    const id = await database.createDevice(partnerId, orgId);
    expect(await devices.get(partnerCaller(partnerId), id)).toMatchObject({ id, groupIds: [] });
    await expect(devices.get(partnerCaller(randomUUID()), id)).rejects.toThrow(NotFoundError);
    await database.admin.query(`UPDATE organization SET status = 'churned' WHERE id = $1`, [orgId]);
    await expect(devices.get(partnerCaller(partnerId), id)).rejects.toThrow(NotFoundError);
  });

  it('finds devices by their id and by their latest reservation', async () => {
    const reservationId = randomUUID();
    const id = await database.createDevice(partnerId, orgId, { enrollment_reservation_id: reservationId });
    expect((await devices.listExisting([id, reservationId, randomUUID()])).sort()).toEqual([id, reservationId].sort());
  });
});
