import { randomUUID } from 'node:crypto';
import type { AgentCaller } from '@rmm/access';
import { UnauthenticatedError } from '@rmm/service-kit';
import { organizationCaller, ProvisioningTestDatabase } from '../../../test/provisioning-test-database.js';
import { readInventory } from './inventory-report.js';
import { readPosture } from './posture-report.js';
import { ReportsRepository } from './reports.repository.js';

const DISKS = readInventory('disks', { disks: [{ mountPoint: '/', totalGb: 1 }] });
const POSTURE = readPosture({
  collectedAt: '2026-01-01T00:00:00Z',
  categories: { rmm: [{ name: 'A', status: 'active' }] },
});

describe('ReportsRepository', () => {
  let database: ProvisioningTestDatabase;
  let reports: ReportsRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    reports = new ReportsRepository(database.tenants);
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });
  afterAll(() => database?.stop());

  const agentOf = (deviceId: string, of = orgId): AgentCaller =>
    ({ ...organizationCaller(partnerId, of), deviceId, orgId: of, partnerId }) as unknown as AgentCaller;
  const store = (caller: AgentCaller, report = DISKS) =>
    database.tenants.transaction(caller, (tx) => reports.storeInventory(tx, caller, report));
  const storePosture = (caller: AgentCaller) =>
    database.tenants.transaction(caller, (tx) => reports.storePosture(tx, caller, POSTURE));

  it('recognizes a stored report by its hash', async () => {
    const caller = agentOf(await database.createDevice(partnerId, orgId));
    expect(await reports.isStored(caller, DISKS)).toBe(false);
    await store(caller);
    expect(await reports.isStored(caller, DISKS)).toBe(true);
    expect(await reports.isStored(caller, readInventory('disks', { disks: [] }))).toBe(false);
    expect(await reports.isStored(caller, readInventory('network', { adapters: [] }))).toBe(false);
  });

  it('writes nothing when an equal report was stored meanwhile', async () => {
    const caller = agentOf(await database.createDevice(partnerId, orgId));
    const rowOf = async () =>
      (await database.admin.query('SELECT * FROM device_disk WHERE device_id = $1', [caller.deviceId])).rows[0];
    await store(caller);
    const before = await rowOf();
    await store(caller);
    expect(await rowOf()).toEqual(before);
    await store(caller, readInventory('disks', { disks: [] }));
    expect(await rowOf()).toMatchObject({ disks: [] });
  });

  it('throws UnauthenticatedError for a decommissioned device and for one of another organization', async () => {
    const ended = agentOf(await database.createDevice(partnerId, orgId, { status: 'decommissioned' }));
    const other = await database.createOrganization(partnerId);
    const foreign = agentOf(await database.createDevice(partnerId, orgId), other);
    for (const caller of [ended, foreign]) {
      await expect(store(caller)).rejects.toThrow(UnauthenticatedError);
      await expect(storePosture(caller)).rejects.toThrow(UnauthenticatedError);
      expect(await reports.isStored(caller, DISKS)).toBe(false);
    }
  });

  it('stores the products of a scan with the creation time of the device', async () => {
    const caller = agentOf(await database.createDevice(partnerId, orgId));
    await storePosture(caller);
    await storePosture(caller);
    const { rows } = await database.admin.query(
      `SELECT p.name, p.device_created_at = d.created_at AS same FROM device_posture_product p
         JOIN device d ON d.id = p.device_id WHERE d.id = $1`,
      [caller.deviceId],
    );
    expect(rows).toEqual([{ name: 'A', same: true }]);
  });
});
