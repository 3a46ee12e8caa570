import { randomUUID } from 'node:crypto';
import type { PartnerDirectory } from '@rmm/access';
import type { AuditTrail, Outbox } from '@rmm/messaging';
import { hashKey } from '@rmm/secrets';
import { UnavailableError, ValidationError } from '@rmm/service-kit';
import { FixedClock } from '@rmm/testing-services';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { PartnersRepository } from '../partners/partners.repository.js';
import { DeviceEnrollmentService } from './device-enrollment.service.js';
import type { EnrollDto } from './dto/enroll.dto.js';
import { EnrollmentRepository } from './enrollment.repository.js';
import type { Reservation } from './key-reservations.service.js';

describe('DeviceEnrollmentService', () => {
  let database: ProvisioningTestDatabase;
  let devices: DeviceEnrollmentService;
  let partnerId: string;
  let orgId: string;
  const clock = new FixedClock();
  const published: { type: string; data: unknown }[] = [];
  const recorded: unknown[][] = [];

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    devices = new DeviceEnrollmentService(
      database.tenants,
      new EnrollmentRepository(database.tenants),
      { find: () => Promise.resolve({ status: 'active', maxDevices: null }) } as unknown as PartnerDirectory,
      new PartnersRepository(),
      { publish: (_: unknown, message: never) => Promise.resolve(void published.push(message)) } as unknown as Outbox,
      { record: (...entry: unknown[]) => Promise.resolve(void recorded.push(entry)) } as unknown as AuditTrail,
      clock,
    );
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
    published.length = recorded.length = 0;
  });

  const reserved = (siteId: string | null = null): Reservation => ({
    enrollmentKeyId: randomUUID(),
    orgId,
    partnerId,
    siteId,
    enrollmentSecretHash: null,
  });
  const enroll = (dto: Partial<EnrollDto> = {}, reservation = reserved(), oldToken: string | null = null) =>
    devices.enroll({
      reservation,
      reservationId: randomUUID(),
      dto: { enrollmentKey: 'k', hostname: 'pc-1', osType: 'linux', osVersion: '1', architecture: 'amd64', ...dto },
      oldToken,
    });
  const countDevices = async () =>
    (await database.admin.query('SELECT id FROM device WHERE org_id = $1', [orgId])).rows.length;

  it('stores the device with the hash of its token, its event and its audit entry', async () => {
    const { deviceId, authToken } = await enroll();
    const { rows } = await database.admin.query<{ agent_token_hash: Buffer }>(
      'SELECT agent_token_hash FROM device WHERE id = $1',
      [deviceId],
    );
    expect(rows).toEqual([{ agent_token_hash: hashKey(authToken) }]);
    expect(published).toMatchObject([{ type: 'device.enrolled', data: { deviceId, hostname: 'pc-1' } }]);
    expect(recorded.map(([, , action]) => action)).toEqual(['device.enroll']);
  });

  it('keeps the device of an old token', async () => {
    const first = await enroll();
    const second = await enroll({ hostname: 'pc-2' }, reserved(), first.authToken);
    expect(second.deviceId).toBe(first.deviceId);
    expect(second.authToken).not.toBe(first.authToken);
    expect(await countDevices()).toBe(1);
  });

  it('reissues the token of the device that the same agent enrolled with the key', async () => {
    const hardwareInfo = { serialNumber: 'SN-1' };
    const reservation = reserved();
    const first = await enroll({ hardwareInfo }, reservation);
    const dto = {
      enrollmentKey: 'k',
      hostname: 'PC-1',
      osType: 'linux',
      osVersion: '1',
      architecture: 'amd64',
    } as const;
    const again = await devices.reissue({ reservation, dto: { ...dto, hardwareInfo } });
    expect(again).toMatchObject({ deviceId: first.deviceId, isRepeated: true });
    expect(recorded.at(-1)?.[4]).toMatchObject({ reissued: true });
    expect(published.at(-1)).toMatchObject({ type: 'agent.changed', data: { deviceIds: [first.deviceId] } });
    expect(await devices.reissue({ reservation: reserved(), dto: { ...dto, hardwareInfo } })).toBeNull();
  });

  it('throws ValidationError for a site of another organization', async () => {
    const other = await database.createOrganization(partnerId);
    const siteId = await database.createSite(partnerId, other);
    await expect(enroll({ siteId })).rejects.toThrow(ValidationError);
  });

  it('throws TenantInactive for a suspended organization', async () => {
    orgId = await database.createOrganization(partnerId, { status: 'suspended' });
    await expect(enroll()).rejects.toMatchObject({ status: 403, code: 'tenant_inactive' });
  });

  it('stores nothing when the reservation may have been released meanwhile', async () => {
    const elapsed = jest.spyOn(clock, 'monotonicMs').mockReturnValueOnce(0).mockReturnValueOnce(12_001);
    await expect(enroll()).rejects.toThrow(UnavailableError);
    elapsed.mockRestore();
    expect(await countDevices()).toBe(0);
  });
});
