import { randomBytes, randomUUID } from 'node:crypto';
import { partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import type { EnrollDto } from './dto/enroll.dto.js';
import { EnrollmentRepository, type EnrollingDevice } from './enrollment.repository.js';

describe('EnrollmentRepository', () => {
  let database: ProvisioningTestDatabase;
  let enrollments: EnrollmentRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    enrollments = new EnrollmentRepository(database.tenants);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });

  const transaction: ProvisioningTestDatabase['tenants']['transaction'] = (caller, work) =>
    database.tenants.transaction(caller, work);
  const caller = () => partnerCaller(partnerId);
  const buildDevice = (dto: Partial<EnrollDto> = {}, siteId: string | null = null): EnrollingDevice => ({
    reservation: {
      enrollmentKeyId: randomUUID(),
      orgId,
      partnerId,
      siteId: null,
      enrollmentSecretHash: null,
    },
    reservationId: randomUUID(),
    siteId,
    tokenHash: randomBytes(32),
    dto: { enrollmentKey: 'k', hostname: 'pc-1', osType: 'linux', osVersion: '1', architecture: 'amd64', ...dto },
  });

  it('creates a device with the id of the reservation and renames a decommissioned one of its hostname', async () => {
    const old = await database.createDevice(partnerId, orgId, { hostname: 'PC-1', status: 'decommissioned' });
    const device = buildDevice({ hardwareInfo: { cpuCores: 4 } });
    const created = await transaction(caller(), (tx) => enrollments.create(tx, randomUUID(), device));
    expect(created).toMatchObject({ id: device.reservationId, isReenrolled: false, version: '1', siteId: null });
    const { rows } = await database.admin.query('SELECT hostname FROM device WHERE id = $1', [old]);
    expect(rows).toEqual([{ hostname: `PC-1~${old.slice(0, 8)}` }]);
  });

  it('keeps site, role and hardware that a re-enrollment does not report', async () => {
    const siteId = await database.createSite(partnerId, orgId);
    const first = buildDevice({ deviceRole: 'server', hardwareInfo: { cpuCores: 4 } }, siteId);
    const again = buildDevice({ hostname: 'pc-2' });
    const stored = await transaction(caller(), async (tx) => {
      const { id } = await enrollments.create(tx, randomUUID(), first);
      expect(await enrollments.findByToken(tx, orgId, first.tokenHash)).toEqual({ id });
      return enrollments.reenroll(tx, id, again);
    });
    expect(stored).toMatchObject({ id: first.reservationId, siteId, isReenrolled: true, version: '2' });
    const columns = 'hostname, device_role, hardware, enrollment_reservation_id';
    const { rows } = await database.admin.query(
      `SELECT ${columns} FROM device JOIN device_hardware ON device_id = id WHERE id = $1`,
      [stored.id],
    );
    expect(rows).toEqual([
      {
        hostname: 'pc-2',
        device_role: 'server',
        hardware: { cpuCores: 4 },
        enrollment_reservation_id: again.reservationId,
      },
    ]);
  });

  it('returns the only site of an organization, and null for none or several', async () => {
    const find = () => transaction(caller(), (tx) => enrollments.findOnlySiteId(tx, orgId));
    expect(await find()).toBeNull();
    const siteId = await database.createSite(partnerId, orgId, 'A');
    expect(await find()).toBe(siteId);
    await database.createSite(partnerId, orgId, 'B');
    expect(await find()).toBeNull();
  });
});
