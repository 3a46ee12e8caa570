import { randomBytes, randomUUID } from 'node:crypto';
import type { Caller } from '@rmm/access';
import { NotFoundError } from '@rmm/service-kit';
import { partnerCaller, ProvisioningTestDatabase } from '../../../test/provisioning-test-database.js';
import { AgentTokenRotationsRepository } from './agent-token-rotations.repository.js';

describe('AgentTokenRotationsRepository', () => {
  let database: ProvisioningTestDatabase;
  let rotations: AgentTokenRotationsRepository;
  let caller: Caller;
  let deviceId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    rotations = new AgentTokenRotationsRepository(database.worker);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    const partnerId = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    caller = partnerCaller(partnerId);
    deviceId = await database.createDevice(partnerId, orgId, { agent_token_hash: randomBytes(32) });
  });

  const lock = (as = caller) => database.tenants.transaction(as, (tx) => rotations.lockDevice(tx, as, deviceId));
  const start = () =>
    database.tenants.transaction(caller, async (tx) =>
      rotations.start(tx, await rotations.lockDevice(tx, caller, deviceId), 24),
    );
  const offer = (nextTokenHash: Buffer, repeatSeconds = 30) =>
    database.tenants.transaction(caller, (tx) => rotations.offer(tx, { deviceId, nextTokenHash, repeatSeconds }));
  const promote = (hash: Buffer) => database.worker.transaction((tx) => rotations.promote(tx, hash));

  it('shows the rotation of a device of its own tenant', async () => {
    expect(await lock()).toMatchObject({ id: deviceId, hasToken: true, expiresAt: null, isExpired: false });
    const expiresAt = await start();
    expect(await lock()).toMatchObject({ expiresAt, isExpired: false });
    await expect(lock(partnerCaller(randomUUID()))).rejects.toThrow(NotFoundError);
  });

  it('replaces an offered token after a while only', async () => {
    const [first, second] = [randomBytes(32), randomBytes(32)];
    expect(await offer(first)).toBe(false);
    await start();
    expect([await offer(first), await offer(second)]).toEqual([true, false]);
    expect(await rotations.isOffered(first)).toBe(true);
    expect(await offer(second, 0)).toBe(true);
    expect([await rotations.isOffered(first), await rotations.isOffered(second)]).toEqual([false, true]);
  });

  it('promotes an offered token once, and none of a decommissioned device', async () => {
    const hash = randomBytes(32);
    await start();
    await offer(hash);
    expect(await promote(hash)).toMatchObject({ deviceId });
    expect(await promote(hash)).toBeNull();
    const { rows } = await database.admin.query('SELECT agent_token_hash FROM device WHERE id = $1', [deviceId]);
    expect(rows[0].agent_token_hash).toEqual(hash);
    const late = randomBytes(32);
    await start();
    await offer(late);
    await database.admin.query('UPDATE device SET decommissioned_at = now() WHERE id = $1', [deviceId]);
    expect(await promote(late)).toBeNull();
  });
});
