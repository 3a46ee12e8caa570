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
      // Without triggers: counting and stamping 72,000 devices takes most of a minute.
      await database.admin.query(`
        SET session_replication_role = replica;
        WITH devices AS (
          INSERT INTO device (partner_id, org_id, hostname, os_type, enrolled_at, created_at, updated_at)
          SELECT '${partnerId}', '${orgId}', 'pc-' || n, (ARRAY['linux', 'windows', 'macos'])[1 + n % 3],
                 now() - n * interval '1 minute', now() - n * interval '1 minute', now()
            FROM generate_series(1, ${DEVICES_EACH}) n RETURNING id)
        INSERT INTO device_state (device_id, partner_id, org_id, status, offline_check_at, last_seen_at)
        SELECT id, '${partnerId}', '${orgId}', CASE WHEN random() < 0.02 THEN 'maintenance' ELSE 'online' END, now(),
               now() - random() * interval '10 days' FROM devices;
        SET session_replication_role = DEFAULT`);
    }
    await database.admin.query(`
      SET session_replication_role = replica;
      INSERT INTO device_hardware (device_id, partner_id, org_id, hardware, created_at, updated_at)
      SELECT id, partner_id, org_id, '{}', now(), now() FROM device;
      INSERT INTO device_group (partner_id, org_id, name, name_key, created_at, updated_at)
      SELECT partner_id, id, 'All', 'all', now(), now() FROM organization;
      INSERT INTO device_group_member (group_id, device_id, partner_id, org_id)
      SELECT g.id, d.id, d.partner_id, d.org_id FROM device d JOIN device_group g ON g.org_id = d.org_id;
      SET session_replication_role = DEFAULT`);
    await database.admin.query('VACUUM ANALYZE');
    const tenants = Object.create(database.tenants, { reader: { value: explain } }) as typeof database.tenants;
    explaining = new DevicesRepository(tenants, database.worker, TEST_SECRETS);
  }, 180_000);
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
        await explaining.list(caller, listing(), { page: 1, sort: by, order: dir, cursor: '', limit: 20 });
      }
      expect(plans).toHaveLength(2);
      expectNoScan();
      const ofState = { status: 'device_state_(partner|org)', lastSeen: 'device_state_(partner|org)_seen' };
      const name = ofState[by as keyof typeof ofState] ?? `device_(partner|org)_${by ?? 'newest'}`;
      for (const plan of plans) expect(plan).toMatch(new RegExp(`Index Scan (Backward )?using ${name}_idx`));
    }
  });

  it.each(['asc', 'desc'] as const)('by status (%s) begins at the position of its cursor', async (order) => {
    const devices = new DevicesRepository(database.tenants, database.worker, TEST_SECRETS);
    const page = { page: 1, sort: 'status', order, limit: 20 } as const;
    for (const caller of callers()) {
      plans = [];
      const { pagination } = await devices.list(caller, listing(), { ...page, cursor: '' });
      await explaining.list(caller, listing(), { ...page, cursor: pagination.nextCursor ?? '' });
      expect(plans[0]).toMatch(/Index Cond: .*ROW\(status, device_id\) [<>] ROW/);
    }
  });

  it('of all tenants reads rows in the order of an index', async () => {
    const caller = { tenant: { ...partnerCaller(partnerId).tenant, scope: 'system', partnerId: null } };
    await explaining.list(caller as unknown as Caller, listing(), { page: 1, cursor: '', limit: 20 });
    expect(plans[0]).toContain('Index Scan using device_newest_idx');
    expectNoScan();
  });

  it('counts the devices of a partner by an index alone', async () => {
    await explaining.list(partnerCaller(partnerId), listing(), { page: 1, limit: 50 });
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
        await explaining.list(caller, listing({ filter }), { page: 1, limit: 50 });
        await explaining.list(caller, listing({ filter }), { page: 2, limit: 50, sort: 'os' });
      }
      expect(plans).toHaveLength(12);
      expectNoScan();
    },
  );
});
