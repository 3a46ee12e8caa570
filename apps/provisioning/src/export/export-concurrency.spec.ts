import { randomUUID } from 'node:crypto';
import type { ExportedBase } from '@rmm/contracts';
import { ConcurrentDeviceWriters } from '../../test/concurrent-device-writers.js';
import { exportServiceOn, readAllPages, type ExportList } from '../../test/export-pagination.js';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { seeded } from '../../test/seeded-random.js';
import { stampNext } from '../../test/stamp-next.js';
import { RestampRepository } from './restamp.repository.js';

const DEVICES = 3_000;
const ORGANIZATIONS = 12;
const WRITERS = 3;
const INCREMENTAL_EXPORTS = 4;

interface DeviceRow {
  id: string;
  orgId: string;
  hostname: string;
  createdAt: Date;
  decommissionedAt: Date | null;
}

/** Exports while transactions of other connections overlap with them, compared with the table. */
describe('an export of devices while other transactions write', () => {
  let database: ProvisioningTestDatabase;
  let list: ExportList;
  let restamps: RestampRepository;
  let writers: ConcurrentDeviceWriters | undefined;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    const service = exportServiceOn(database);
    list = (request) => service.listDevices(request);
    restamps = new RestampRepository(database.worker);
  });
  afterEach(() => writers?.stop());
  afterAll(() => database?.stop());

  async function createTenant() {
    const partnerId = randomUUID();
    const orgIds: string[] = [];
    for (let n = 0; n < ORGANIZATIONS; n += 1) orgIds.push(await database.createOrganization(partnerId));
    await database.admin.query(
      `INSERT INTO device (partner_id, org_id, hostname, os_type)
       SELECT $1, ($2::uuid[])[1 + n % ${ORGANIZATIONS}], 'pc-' || n, 'linux' FROM generate_series(1, ${DEVICES}) n`,
      [partnerId, orgIds],
    );
    return { partnerId, orgIds };
  }

  const readTable = async (partnerId: string) => {
    const { rows } = await database.admin.query<DeviceRow>(
      `SELECT id, org_id AS "orgId", hostname, created_at AS "createdAt", decommissioned_at AS "decommissionedAt"
         FROM device WHERE partner_id = $1`,
      [partnerId],
    );
    return rows;
  };
  const clock = async () => (await database.admin.query<{ at: Date }>('SELECT clock_timestamp() AS at')).rows[0].at;
  const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id).sort();

  it.each([11, 12, 13])(
    'is complete, without repeats and of one snapshot, and incremental exports end with the table (seed %d)',
    async (seed) => {
      const { partnerId, orgIds } = await createTenant();
      const running = (writers = new ConcurrentDeviceWriters(database.admin, partnerId, orgIds, seeded(seed)));
      const consumed = new Map<string, ExportedBase>();
      const consume = (records: ExportedBase[]) => records.forEach((record) => consumed.set(record.id, record));

      const startedAt = await clock();
      running.start(WRITERS);
      const full = await readAllPages(list, partnerId, { limit: 100 });
      const suspendedMeanwhile = new Set(running.suspended);
      const rows = await readTable(partnerId);
      const { snapshotAt } = full;
      const ids = full.records.map(({ id }) => id);
      expect(ids).toEqual([...new Set(ids)].sort());
      const isOfSnapshot = ({ createdAt }: DeviceRow) => createdAt.getTime() <= Date.parse(snapshotAt);
      const required = rows.filter(
        (row) => isOfSnapshot(row) && row.decommissionedAt === null && !suspendedMeanwhile.has(row.orgId),
      );
      expect(idsOf(required).filter((id) => !ids.includes(id))).toEqual([]);
      const allowed = rows.filter(
        (row) => isOfSnapshot(row) && (row.decommissionedAt === null || row.decommissionedAt >= startedAt),
      );
      const allowedIds = new Set(idsOf(allowed));
      expect(ids.filter((id) => !allowedIds.has(id))).toEqual([]);
      expect(required.length).toBeGreaterThan(0);
      consume(full.records);

      let updatedSince = snapshotAt;
      const hasEnoughChanges = () => running.committed > 20 && running.suspended.size > 0;
      for (let n = 0; n < INCREMENTAL_EXPORTS || !hasEnoughChanges(); n += 1) {
        const changes = await readAllPages(list, partnerId, { updatedSince, limit: 40 }, async () => {
          await stampNext(restamps, 100);
        });
        const changedIds = changes.records.map(({ id }) => id);
        expect(new Set(changedIds).size).toBe(changedIds.length);
        consume(changes.records);
        updatedSince = changes.snapshotAt;
      }
      await running.stop();
      await running.resumeAll();
      while (await stampNext(restamps, 500));
      consume((await readAllPages(list, partnerId, { updatedSince, limit: 500 })).records);

      const live = (await readTable(partnerId)).filter(({ decommissionedAt }) => decommissionedAt === null);
      const hostnameOf = (id: string) => (consumed.get(id) as { hostname?: string } | undefined)?.hostname;
      expect(live.filter(({ id, hostname }) => hostnameOf(id) !== hostname)).toEqual([]);
      expect(idsOf((await readAllPages(list, partnerId, { limit: 500 })).records)).toEqual(idsOf(live));
    },
    120_000,
  );
});
