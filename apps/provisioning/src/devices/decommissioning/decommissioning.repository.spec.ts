import { randomUUID } from 'node:crypto';
import { NotFoundError } from '@rmm/service-kit';
import { partnerCaller, ProvisioningTestDatabase } from '../../../test/provisioning-test-database.js';
import { DecommissioningRepository } from './decommissioning.repository.js';

describe('DecommissioningRepository', () => {
  let database: ProvisioningTestDatabase;
  let partnerId: string;
  let orgId: string;
  const devices = new DecommissioningRepository();

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });
  afterAll(() => database?.stop());

  const lock = (id: string, caller = partnerCaller(partnerId)) =>
    database.tenants.transaction(caller, (tx) => devices.lock(tx, caller, id));

  it('ends the token and counts the device no longer', async () => {
    const id = await database.createDevice(partnerId, orgId, { agent_token_hash: Buffer.alloc(32, 1) });
    const caller = partnerCaller(partnerId);
    await database.tenants.transaction(caller, async (tx) =>
      devices.decommission(tx, [(await devices.lock(tx, caller, id)).id]),
    );
    const { rows } = await database.admin.query(
      `SELECT d.agent_token_hash, d.version::int AS version, s.status, s.offline_check_at, c.devices
         FROM device d JOIN device_state s ON s.device_id = d.id JOIN organization_count c ON c.org_id = d.org_id
        WHERE d.id = $1`,
      [id],
    );
    expect(rows).toEqual([
      { agent_token_hash: null, version: 2, status: 'decommissioned', offline_check_at: null, devices: 0 },
    ]);
    expect(await lock(id)).toMatchObject({ id, isDecommissioned: true, groupIds: [] });
  });

  it('finds no device of another tenant or of an inactive organization', async () => {
    const id = await database.createDevice(partnerId, orgId);
    await expect(lock(id, partnerCaller(randomUUID()))).rejects.toThrow(NotFoundError);
    await database.admin.query(`UPDATE organization SET status = 'suspended' WHERE id = $1`, [orgId]);
    await expect(lock(id)).rejects.toThrow(NotFoundError);
  });
});
