import { randomUUID } from 'node:crypto';
import { InvalidCursor } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
  TEST_SECRETS,
} from '../../test/provisioning-test-database.js';
import { DevicesRepository, type DeviceFilter, type DeviceListing } from './devices.repository.js';
import { DEVICE_SORTS } from './dto/list-devices.dto.js';

const EVERYTHING: DeviceFilter = { includeDecommissioned: false, allowedSiteIds: null, allowedGroupIds: null };
const NEWEST: DeviceListing['order'] = { dir: 'desc' };

describe('DevicesRepository', () => {
  let database: ProvisioningTestDatabase;
  let devices: DevicesRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    devices = new DevicesRepository(database.tenants, database.worker, TEST_SECRETS);
  }, 60_000);
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });

  const listing = (filter: Partial<DeviceFilter> = {}, more: Partial<DeviceListing> = {}): DeviceListing => ({
    filter: { ...EVERYTHING, ...filter },
    order: NEWEST,
    include: [],
    ...more,
  });
  const hostnames = async (filter: Partial<DeviceFilter> = {}) => {
    const { rows } = await devices.listNumbered(partnerCaller(partnerId), listing(filter), { page: 1, limit: 10 });
    return rows.map(({ hostname }) => hostname).sort();
  };
  const createGroup = async (...deviceIds: string[]) => {
    const { rows } = await database.admin.query<{ id: string }>(
      `INSERT INTO device_group (partner_id, org_id, name, name_key) VALUES ($1, $2, $3, $3) RETURNING id`,
      [partnerId, orgId, randomUUID()],
    );
    await database.admin.query(
      `INSERT INTO device_group_member (group_id, device_id, partner_id, org_id) SELECT $1, unnest($2::uuid[]), $3, $4`,
      [rows[0].id, deviceIds, partnerId, orgId],
    );
    return rows[0].id;
  };

  it('filters by each property and omits decommissioned devices by default', async () => {
    const siteId = await database.createSite(partnerId, orgId);
    const otherOrgId = await database.createOrganization(partnerId);
    const a = { hostname: 'a', site_id: siteId, display_name: 'Front 100%', os_type: 'macos', device_role: 'kiosk' };
    const inGroup = await database.createDevice(partnerId, orgId, a);
    await database.createDevice(partnerId, orgId, { hostname: 'b', status: 'offline' });
    await database.createDevice(partnerId, orgId, { hostname: 'old', status: 'decommissioned' });
    await database.createDevice(partnerId, otherOrgId, { hostname: 'c' });
    const groupId = await createGroup(inGroup);
    expect(await hostnames()).toEqual(['a', 'b', 'c']);
    expect(await hostnames({ includeDecommissioned: true })).toEqual(['a', 'b', 'c', 'old']);
    expect(await hostnames({ status: 'decommissioned' })).toEqual(['old']);
    expect(await hostnames({ status: 'offline' })).toEqual(['b']);
    expect(await hostnames({ orgIds: [orgId] })).toEqual(['a', 'b']);
    expect(await hostnames({ siteId })).toEqual(['a']);
    expect(await hostnames({ siteIds: [siteId, randomUUID()] })).toEqual(['a']);
    expect(await hostnames({ groupIds: [groupId] })).toEqual(['a']);
    expect(await hostnames({ groupIds: [randomUUID()] })).toEqual([]);
    expect(await hostnames({ osType: 'macos' })).toEqual(['a']);
    expect(await hostnames({ role: 'kiosk' })).toEqual(['a']);
    expect(await hostnames({ search: '0%' })).toEqual(['a']);
    expect(await hostnames({ allowedSiteIds: [siteId] })).toEqual(['a']);
    expect(await hostnames({ allowedSiteIds: [] })).toEqual([]);
    expect(await hostnames({ allowedGroupIds: [groupId] })).toEqual(['a']);
    expect(await hostnames({ allowedGroupIds: [] })).toEqual([]);
  });

  it.each(DEVICE_SORTS)('returns all devices once by %s in both directions', async (by) => {
    const os = ['linux', 'windows', 'macos'];
    for (let n = 0; n < 7; n += 1) {
      await database.createDevice(partnerId, orgId, {
        hostname: ['b', 'B', 'a', 'c'][n % 4],
        os_type: os[n % 3],
        status: n % 2 ? 'online' : 'offline',
      });
    }
    const caller = partnerCaller(partnerId);
    const listAll = async (dir: 'asc' | 'desc') => {
      const found: { id: string; value: string }[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const order = { by, dir };
        const page = await devices.listAfter(caller, listing({}, { order }), { cursor, limit: 3 });
        const valueOf = ({ hostnameKey, enrolledKey, status, osType }: (typeof page.rows)[number]) =>
          ({ hostname: hostnameKey, enrolled: enrolledKey?.toISOString(), status, os: osType })[by];
        found.push(...page.rows.map((row) => ({ id: row.id, value: valueOf(row) })));
        cursor = page.nextCursor;
      }
      return found;
    };
    const ascending = await listAll('asc');
    expect(new Set(ascending.map(({ id }) => id)).size).toBe(7);
    const numbered = await devices.listNumbered(caller, listing({}, { order: { by, dir: 'asc' } }), {
      page: 1,
      limit: 10,
    });
    expect(numbered.rows.map(({ id }) => id)).toEqual(ascending.map(({ id }) => id));
    if (by !== 'enrolled')
      expect(ascending.map(({ value }) => value)).toEqual(ascending.map(({ value }) => value).sort());
    expect(await listAll('desc')).toEqual(ascending.toReversed());
  });

  it('rejects a cursor of another caller, filter or order', async () => {
    for (let n = 0; n < 2; n += 1) await database.createDevice(partnerId, orgId);
    const { nextCursor } = await devices.listAfter(partnerCaller(partnerId), listing(), { cursor: '', limit: 1 });
    const use = (caller = partnerCaller(partnerId), request = listing()) =>
      devices.listAfter(caller, request, { cursor: nextCursor ?? '', limit: 1 });
    expect((await use()).rows).toHaveLength(1);
    await expect(use(organizationCaller(partnerId, orgId))).rejects.toThrow(InvalidCursor);
    await expect(use(undefined, listing({ osType: 'linux' }))).rejects.toThrow(InvalidCursor);
    await expect(use(undefined, listing({}, { order: { by: 'os', dir: 'asc' } }))).rejects.toThrow(InvalidCursor);
  });

  it('ends a page of large devices at about 1 MB and goes on after its last one', async () => {
    const customFields = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`k${n}`, 'x'.repeat(10_000)]));
    for (let n = 0; n < 40; n += 1) {
      await database.createDevice(partnerId, orgId, {
        custom_fields: customFields,
        metrics: { text: 'y'.repeat(16_000) },
        hardware: { cpuModel: 'z'.repeat(255) },
      });
    }
    const caller = partnerCaller(partnerId);
    const heavy = listing({}, { include: ['customFields', 'hardware', 'metrics'] });
    const light = await devices.listNumbered(caller, listing(), { page: 1, limit: 1_000 });
    expect([light.rows.length, light.truncated, light.rows[0].customFields]).toEqual([40, undefined, undefined]);
    const numbered = await devices.listNumbered(caller, heavy, { page: 1, limit: 1_000 });
    expect(numbered).toMatchObject({ total: 40, truncated: true });
    const seen = new Set<string>();
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: Awaited<ReturnType<DevicesRepository['listAfter']>> = await devices.listAfter(caller, heavy, {
        cursor,
        limit: 1_000,
      });
      const bytes = Buffer.byteLength(JSON.stringify(page.rows));
      expect(bytes).toBeLessThan(1_150_000);
      if (page.nextCursor !== null) expect(bytes).toBeGreaterThan(900_000);
      for (const { id } of page.rows) seen.add(id);
      cursor = page.nextCursor;
    }
    expect(seen.size).toBe(40);
  });

  it('throws NotFoundError for a foreign device and a device of an inactive organization', async () => {
    const id = await database.createDevice(partnerId, orgId, { custom_fields: { rack: 'A1' }, metrics: { cpu: 1 } });
    const groupId = await createGroup(id);
    expect(await devices.get(partnerCaller(partnerId), id)).toMatchObject({
      id,
      groupIds: [groupId],
      customFields: { rack: 'A1' },
      hardware: null,
      metrics: { cpu: 1 },
    });
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
