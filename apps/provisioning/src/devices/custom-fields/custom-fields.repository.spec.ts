import { randomUUID } from 'node:crypto';
import { NotFoundError } from '@rmm/service-kit';
import { partnerCaller, ProvisioningTestDatabase } from '../../../test/provisioning-test-database.js';
import { CustomFieldsRepository } from './custom-fields.repository.js';

describe('CustomFieldsRepository', () => {
  let database: ProvisioningTestDatabase;
  const fields = new CustomFieldsRepository();

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
  });
  afterAll(() => database?.stop());

  it('sets and removes fields, keeps the others and raises the version', async () => {
    const partnerId = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    const id = await database.createDevice(partnerId, orgId, { custom_fields: { rack: 'A1', spare: true, old: 1 } });
    const patch = { set: { rack: 'B2' }, remove: ['old'], keys: ['rack', 'old'] };
    const caller = partnerCaller(partnerId);
    const merged = await database.tenants.transaction(caller, (tx) => fields.merge(tx, id, patch));
    expect(merged).toMatchObject({ orgId, partnerId, version: '2', customFields: { rack: 'B2', spare: true } });
    expect(await fields.get(database.tenants.reader(caller), id)).toMatchObject({
      siteId: null,
      customFields: { rack: 'B2', spare: true },
    });
  });

  it('keeps the version when a patch changes nothing', async () => {
    const partnerId = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    const id = await database.createDevice(partnerId, orgId, { custom_fields: { rack: 'A1' } });
    const patch = { set: { rack: 'A1' }, remove: ['absent'], keys: ['rack', 'absent'] };
    const merge = () => database.tenants.transaction(partnerCaller(partnerId), (tx) => fields.merge(tx, id, patch));
    expect(await merge()).toMatchObject({ version: '1', isChanged: false, customFields: { rack: 'A1' } });
  });

  it('throws NotFoundError for a device of another partner', async () => {
    const partnerId = randomUUID();
    const id = await database.createDevice(partnerId, await database.createOrganization(partnerId));
    const foreign = database.tenants.reader(partnerCaller(randomUUID()));
    await expect(fields.get(foreign, id)).rejects.toThrow(NotFoundError);
  });
});
