import { randomUUID } from 'node:crypto';
import type { Caller } from '@rmm/access';
import { partnerCaller, ProvisioningTestDatabase } from '../../../test/provisioning-test-database.js';
import { DeviceDuplicatesRepository, type DuplicateSearch } from './device-duplicates.repository.js';
import { DUPLICATE_KEYS } from './dto/device-duplicates.dto.js';

describe('DeviceDuplicatesRepository', () => {
  let database: ProvisioningTestDatabase;
  let duplicates: DeviceDuplicatesRepository;
  let caller: Caller;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    duplicates = new DeviceDuplicatesRepository(database.tenants);
    for (let n = 0; n < 10; n += 1) {
      const partnerId = randomUUID();
      orgId = await database.createOrganization(partnerId);
      caller = partnerCaller(partnerId);
      await database.admin.query(
        `SET session_replication_role = replica;
         WITH d AS (
           INSERT INTO device (partner_id, org_id, hostname, os_type, created_at, updated_at)
           SELECT '${partnerId}', '${orgId}', 'pc-' || n, 'linux', now(), now() FROM generate_series(1, 1000) n
           RETURNING id, substr(hostname, 4)::int AS n),
         s AS (INSERT INTO device_state (device_id, partner_id, org_id, status)
           SELECT id, '${partnerId}', '${orgId}', 'offline' FROM d),
         h AS (INSERT INTO device_hardware (device_id, partner_id, org_id, hardware, created_at, updated_at)
           SELECT id, '${partnerId}', '${orgId}', jsonb_build_object('serialNumber', 'SN-' || (1000 + n % 997)), now(), now() FROM d)
         INSERT INTO device_network (device_id, partner_id, org_id, adapters, created_at, updated_at)
         SELECT id, '${partnerId}', '${orgId}', jsonb_build_array(jsonb_build_object('macAddress',
                'a4bb6d00' || to_char(1000 + n % 998, 'FM0000'))), now(), now() FROM d;
         SET session_replication_role = DEFAULT`,
      );
    }
    await database.admin.query('VACUUM ANALYZE');
  }, 120_000);
  afterAll(() => database?.stop());

  const search = (more: Partial<DuplicateSearch> = {}): DuplicateSearch => ({
    ...{ orgId, by: 'serialNumber', siteIds: null, groupIds: null, maxSets: 10, maxDevices: 10 },
    ...more,
  });

  it('finds the sets of an organization, one more than the limit at most', async () => {
    expect((await duplicates.find(caller, search())).map(({ key, deviceCount }) => [key, deviceCount])).toEqual([
      ['SN1001', 2],
      ['SN1002', 2],
      ['SN1003', 2],
    ]);
    expect(await duplicates.find(caller, search({ by: 'macAddress' }))).toHaveLength(2);
    expect(await duplicates.find(caller, search({ maxSets: 1 }))).toHaveLength(2);
    const [set] = await duplicates.find(caller, search({ maxDevices: 1 }));
    expect([set.deviceCount, set.devices.length]).toEqual([2, 1]);
    expect(await duplicates.find(partnerCaller(randomUUID()), search())).toEqual([]);
  });

  it.each(DUPLICATE_KEYS)('finds devices by %s by indexes', async (by) => {
    let plan = '';
    const explaining = Object.create(database.tenants, {
      read: {
        value: (as: Caller, sql: string, params: object) =>
          database.tenants.transaction(as, async (tx) => {
            const rows = await tx.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`, params);
            plan = rows.map((row) => row['QUERY PLAN']).join('\n');
            return [];
          }),
      },
    }) as typeof database.tenants;
    await new DeviceDuplicatesRepository(explaining).find(caller, search({ by }));
    expect(plan).toMatch(/(device_hardware_serial_key|device_network_mac_key|device_(hardware|network)_org)_idx/);
    expect(plan).not.toMatch(/Seq Scan on device/);
  });
});
