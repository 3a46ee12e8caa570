import { randomUUID } from 'node:crypto';
import type { Caller } from '@rmm/access';
import type { BatchExecutor, SqlParams } from '@rmm/persistence';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
  TEST_SECRETS,
} from '../../test/provisioning-test-database.js';
import { DevicesRepository, type DeviceListing } from './devices.repository.js';
import { DEVICE_SORTS } from './dto/list-devices.dto.js';

const PARTNERS = 24;
const DEVICES_EACH = 3_000;

/** The plans of the statements of the device list, over the devices of many partners. */
describe('a list of devices', () => {
  let database: ProvisioningTestDatabase;
  let explaining: DevicesRepository;
  let plans: string[];
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    for (let n = 0; n < PARTNERS; n += 1) {
      partnerId = randomUUID();
      orgId = await database.createOrganization(partnerId);
      await database.admin.query(
        `WITH devices AS (
           INSERT INTO device (partner_id, org_id, hostname, os_type, enrolled_at)
           SELECT $1::uuid, $2::uuid, 'pc-' || n, (ARRAY['linux', 'windows', 'macos'])[1 + n % 3], now() - n * interval '1 minute'
             FROM generate_series(1, $3::int) n RETURNING id)
         INSERT INTO device_state (device_id, partner_id, org_id, status, offline_check_at)
         SELECT id, $1, $2, CASE WHEN random() < 0.02 THEN 'maintenance' ELSE 'online' END, now() FROM devices`,
        [partnerId, orgId, DEVICES_EACH],
      );
    }
    await database.admin.query(`
      INSERT INTO device_hardware (device_id, partner_id, org_id, hardware) SELECT id, partner_id, org_id, '{}' FROM device;
      INSERT INTO device_group (partner_id, org_id, name, name_key) SELECT partner_id, id, 'All', 'all' FROM organization;
      INSERT INTO device_group_member (group_id, device_id, partner_id, org_id)
      SELECT g.id, d.id, d.partner_id, d.org_id FROM device d JOIN device_group g ON g.org_id = d.org_id`);
    await database.admin.query('VACUUM ANALYZE');
    const tenants = Object.create(database.tenants, { reader: { value: explain } }) as typeof database.tenants;
    explaining = new DevicesRepository(tenants, database.worker, TEST_SECRETS);
  }, 60_000);
  afterAll(() => database?.stop());
  beforeEach(() => {
    plans = [];
  });

  /** Explains statements as the caller instead of running them. */
  function explain(caller: Caller): BatchExecutor {
    const query = (sql: string, params?: SqlParams) =>
      database.tenants.transaction(caller, async (tx) => {
        const rows = await tx.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`, params);
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
        return [];
      });
    const queryAll: BatchExecutor['queryAll'] = async (statements) => {
      for (const { sql, params } of statements) await query(sql, params);
      return statements.map(() => []);
    };
    return { query, queryAll };
  }

  const listing = (more: Partial<DeviceListing> = {}): DeviceListing => ({
    filter: { includeDecommissioned: false, allowedSiteIds: null, allowedGroupIds: null },
    order: { dir: 'desc' },
    include: ['customFields', 'hardware', 'metrics'],
    ...more,
  });
  const callers = () => [
    partnerCaller(partnerId),
    organizationCaller(partnerId, orgId),
    { tenant: { ...partnerCaller(partnerId).tenant, orgAccess: 'selected', orgIds: [orgId] } } as unknown as Caller,
  ];
  const expectNoScan = () => {
    for (const plan of plans) {
      expect(plan).not.toMatch(/Seq Scan on (device|device_state|device_hardware|device_group_member)\b/);
    }
  };

  it.each([undefined, ...DEVICE_SORTS])('by %s reads rows in the order of an index', async (by) => {
    for (const caller of callers()) {
      plans = [];
      for (const dir of ['asc', 'desc'] as const) {
        await explaining.listAfter(caller, listing({ order: { by, dir } }), { cursor: '', limit: 20 });
      }
      expect(plans).toHaveLength(2);
      expectNoScan();
      const name = by === 'status' ? 'device_state_(partner|org)' : `device_(partner|org)_${by ?? 'newest'}`;
      for (const plan of plans) expect(plan).toMatch(new RegExp(`Index Scan (Backward )?using ${name}_idx`));
    }
  });

  it('of all tenants reads rows in the order of an index', async () => {
    const caller = { tenant: { ...partnerCaller(partnerId).tenant, scope: 'system', partnerId: null } };
    await explaining.listAfter(caller as unknown as Caller, listing(), { cursor: '', limit: 20 });
    expect(plans[0]).toContain('Index Scan using device_newest_idx');
    expectNoScan();
  });

  it('counts the devices of a partner by an index alone', async () => {
    await explaining.listNumbered(partnerCaller(partnerId), listing(), { page: 1, limit: 50 });
    expect(plans).toHaveLength(2);
    expect(plans[1]).toContain('Index Only Scan using device_count_idx');
    expectNoScan();
  });

  it.each(['orgId', 'siteIds', 'groupIds', 'status', 'osType', 'search'] as const)(
    'filtered by %s reads no whole table, nor does its count',
    async (name) => {
      const values = {
        ...{ orgId, siteIds: [randomUUID()], groupIds: [randomUUID()] },
        ...{ status: 'maintenance', osType: 'linux', search: 'pc-1' },
      } as const;
      for (const caller of callers()) {
        const filter = { ...listing().filter, [name]: values[name] };
        await explaining.listNumbered(caller, listing({ filter }), { page: 1, limit: 50 });
        await explaining.listNumbered(caller, listing({ filter, order: { by: 'os', dir: 'asc' } }), {
          page: 2,
          limit: 50,
        });
      }
      expect(plans).toHaveLength(12);
      expectNoScan();
    },
  );
});
