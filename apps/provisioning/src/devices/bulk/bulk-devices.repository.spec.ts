import { randomUUID } from 'node:crypto';
import { partnerCaller, ProvisioningTestDatabase } from '../../../test/provisioning-test-database.js';
import { BulkDevicesRepository } from './bulk-devices.repository.js';

describe('BulkDevicesRepository', () => {
  let database: ProvisioningTestDatabase;
  const devices = new BulkDevicesRepository();
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });
  afterAll(() => database?.stop());

  const lock = (ids: string[], caller = partnerCaller(partnerId)) =>
    database.tenants.transaction(caller, (tx) => devices.lock(tx, caller, ids));

  it('locks the devices of the tenant in one order', async () => {
    const ids = [await database.createDevice(partnerId, orgId), await database.createDevice(partnerId, orgId)];
    expect((await lock([...ids, randomUUID()])).map(({ id }) => id)).toEqual(ids.toSorted());
    expect(await lock(ids, partnerCaller(randomUUID()))).toEqual([]);
  });

  it('stores different tags of several devices by one statement', async () => {
    const ids = [await database.createDevice(partnerId, orgId), await database.createDevice(partnerId, orgId)];
    const changes = [
      { id: ids[0], tags: ['a', 'b,"c'] },
      { id: ids[1], tags: [] },
    ];
    const caller = partnerCaller(partnerId);
    await database.tenants.transaction(caller, (tx) => devices.setTags(tx, changes));
    const found = new Map((await lock(ids)).map(({ id, tags, version }) => [id, [tags, version]]));
    expect(ids.map((id) => found.get(id))).toEqual([
      [['a', 'b,"c'], '2'],
      [[], '2'],
    ]);
  });

  it('locks no device of an inactive organization', async () => {
    const inactive = await database.createOrganization(partnerId, { status: 'suspended' });
    expect(await lock([await database.createDevice(partnerId, inactive)])).toEqual([]);
  });
});
