import { randomBytes, randomUUID } from 'node:crypto';
import type { Caller } from '@rmm/access';
import { NotFoundError } from '@rmm/service-kit';
import { partnerCaller, ProvisioningTestDatabase } from '../../../test/provisioning-test-database.js';
import { DeviceProvisionsRepository } from './device-provisions.repository.js';

describe('DeviceProvisionsRepository', () => {
  let database: ProvisioningTestDatabase;
  let provisions: DeviceProvisionsRepository;
  let caller: Caller;
  let owner: { partnerId: string; orgId: string };

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    provisions = new DeviceProvisionsRepository(database.tenants);
    const partnerId = randomUUID();
    owner = { partnerId, orgId: await database.createOrganization(partnerId) };
    caller = partnerCaller(partnerId);
  });
  afterAll(() => database?.stop());

  const create = async (tokenHash: Buffer, minutes = 5) => {
    const siteId = await database.createSite(owner.partnerId, owner.orgId, randomUUID());
    const device = {
      id: randomUUID(),
      ...owner,
      siteId,
      hostname: 'Desk',
      osType: 'macos',
      displayName: null,
    } as const;
    await database.tenants.transaction(caller, async (tx) => {
      await provisions.createDevice(tx, device);
      await provisions.create(tx, { deviceId: device.id, ...owner, tokenHash }, minutes);
    });
    return device.id;
  };
  const lock = (tokenHash: Buffer, as = caller) =>
    database.tenants.transaction(as, (tx) => provisions.lock(tx, as, tokenHash));

  it('finds the pending device of a token of its own tenant', async () => {
    const tokenHash = randomBytes(32);
    const deviceId = await create(tokenHash);
    expect(await lock(tokenHash)).toMatchObject({ deviceId, ...owner, isExpired: false, groupIds: [] });
    await expect(lock(tokenHash, partnerCaller(randomUUID()))).rejects.toThrow(NotFoundError);
    await expect(lock(randomBytes(32))).rejects.toThrow(NotFoundError);
    const isTaken = (hostname: string) =>
      database.tenants.transaction(caller, (tx) => provisions.isHostnameTaken(tx, owner.orgId, hostname));
    expect([await isTaken('dESK'), await isTaken('other')]).toEqual([true, false]);
  });

  it('marks an expired token by the clock of the database', async () => {
    const tokenHash = randomBytes(32);
    await create(tokenHash, 0);
    expect(await lock(tokenHash)).toMatchObject({ isExpired: true });
  });

  it('redeems a token once', async () => {
    const tokenHash = randomBytes(32);
    const deviceId = await create(tokenHash);
    const redeem = () => database.tenants.transaction(caller, (tx) => provisions.redeem(tx, deviceId, randomBytes(32)));
    await redeem();
    await expect(redeem()).rejects.toThrow(NotFoundError);
    const { rows } = await database.admin.query('SELECT enrolled_at, version::int FROM device WHERE id = $1', [
      deviceId,
    ]);
    expect(rows).toEqual([{ enrolled_at: expect.any(Date), version: 2 }]);
  });
});
