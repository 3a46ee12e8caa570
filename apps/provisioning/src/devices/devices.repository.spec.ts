import { randomUUID } from 'node:crypto';
import { InvalidCursor } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
  TEST_SECRETS,
} from '../../test/provisioning-test-database.js';
import { DevicesRepository, type DeviceFilter, type DeviceListing, type DeviceView } from './devices.repository.js';
import { DEVICE_SORTS, type DeviceSort } from './dto/list-devices.dto.js';

type Listed = Awaited<ReturnType<DevicesRepository['list']>>;

const PAGE = { page: 1, limit: 10 };
const EVERYTHING: DeviceFilter = { includeDecommissioned: false, allowedSiteIds: null, allowedGroupIds: null };

describe('DevicesRepository', () => {
  let database: ProvisioningTestDatabase;
  let devices: DevicesRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    devices = new DevicesRepository(database.tenants, database.worker, TEST_SECRETS);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });

  const listing = (filter: Partial<DeviceFilter> = {}, more: Partial<DeviceListing> = {}): DeviceListing => ({
    filter: { ...EVERYTHING, ...filter },
    include: [],
    ...more,
  });
  const hostnames = async (filter: Partial<DeviceFilter> = {}) => {
    const { rows } = await devices.list(partnerCaller(partnerId), listing(filter), PAGE);
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
        last_seen_at: n < 2 ? null : `2026-11-0${1 + (n % 3)}T10:0${n % 2}:00Z`,
      });
    }
    const caller = partnerCaller(partnerId);
    const listAll = async (dir: 'asc' | 'desc') => {
      const found: { id: string; value: string }[] = [];
      let cursor: string | null | undefined = '';
      while (typeof cursor === 'string') {
        const request = { page: 1, cursor, limit: 3, sort: by, order: dir };
        const { rows, pagination }: Listed = await devices.list(caller, listing(), request);
        const valueOf = ({ hostnameKey, enrolledKey, status, osType, lastSeenAt }: DeviceView) =>
          ({
            ...{ hostname: hostnameKey, status, os: osType },
            ...{ enrolled: enrolledKey?.toISOString(), lastSeen: lastSeenAt?.toISOString() ?? '' },
          })[by];
        found.push(...rows.map((row) => ({ id: row.id, value: valueOf(row) })));
        cursor = pagination.nextCursor;
      }
      return found;
    };
    const ascending = await listAll('asc');
    expect(new Set(ascending.map(({ id }) => id)).size).toBe(7);
    const numbered = await devices.list(caller, listing(), { ...PAGE, sort: by });
    expect(numbered.rows.map(({ id }) => id)).toEqual(ascending.map(({ id }) => id));
    if (by !== 'enrolled')
      expect(ascending.map(({ value }) => value)).toEqual(ascending.map(({ value }) => value).sort());
    expect(await listAll('desc')).toEqual(ascending.toReversed());
  });

  it('sorts by the exact time of the last heartbeat, devices without one as the least recent', async () => {
    const times = ['10:59:59.999', null, '11:00:00.000', '10:00:00.000', '11:00:00.001', '10:30:00.000'];
    const ids: string[] = [];
    for (const time of times) {
      ids.push(await database.createDevice(partnerId, orgId, { last_seen_at: time && `2026-11-01T${time}Z` }));
    }
    const listed = async (order: 'asc' | 'desc') => {
      const { rows } = await devices.list(partnerCaller(partnerId), listing(), { ...PAGE, sort: 'lastSeen', order });
      return rows.map(({ id }) => times[ids.indexOf(id)]);
    };
    const ascending = [null, '10:00:00.000', '10:30:00.000', '10:59:59.999', '11:00:00.000', '11:00:00.001'];
    expect(await listed('asc')).toEqual(ascending);
    expect(await listed('desc')).toEqual(ascending.toReversed());
    // A heartbeat moves its device; the hour by which the index finds it follows by itself.
    await database.admin.query('UPDATE device_state SET last_seen_at = $2 WHERE device_id = $1', [
      ...[ids[1], '2026-11-01T10:45:00Z'],
    ]);
    expect(await listed('asc')).toEqual([...ascending.slice(1, 3), null, ...ascending.slice(3)]);
  });

  it('rejects a cursor of another caller, filter or order', async () => {
    for (let n = 0; n < 2; n += 1) await database.createDevice(partnerId, orgId);
    const { pagination } = await devices.list(partnerCaller(partnerId), listing(), { page: 1, cursor: '', limit: 1 });
    const use = (caller = partnerCaller(partnerId), request = listing(), sort?: DeviceSort) =>
      devices.list(caller, request, { page: 1, cursor: pagination.nextCursor ?? '', limit: 1, sort });
    expect((await use()).rows).toHaveLength(1);
    await expect(use(organizationCaller(partnerId, orgId))).rejects.toThrow(InvalidCursor);
    await expect(use(undefined, listing({ osType: 'linux' }))).rejects.toThrow(InvalidCursor);
    await expect(use(undefined, listing(), 'os')).rejects.toThrow(InvalidCursor);
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
    const page = { page: 1, limit: 1_000 };
    const light = await devices.list(caller, listing(), page);
    expect([light.rows.length, light.pagination, light.rows[0].customFields]).toEqual([
      ...[40, { ...page, total: 40 }, undefined],
    ]);
    expect((await devices.list(caller, heavy, page)).pagination).toMatchObject({ total: 40, truncated: true });
    const seen = new Set<string>();
    let cursor: string | null | undefined = '';
    while (typeof cursor === 'string') {
      const { rows, pagination }: Listed = await devices.list(caller, heavy, { ...page, cursor });
      const bytes = Buffer.byteLength(JSON.stringify(rows));
      expect(bytes).toBeLessThan(1_150_000);
      if (pagination.nextCursor !== null) expect(bytes).toBeGreaterThan(900_000);
      for (const { id } of rows) seen.add(id);
      cursor = pagination.nextCursor;
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
