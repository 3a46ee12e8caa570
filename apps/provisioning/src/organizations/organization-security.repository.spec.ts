import { randomUUID } from 'node:crypto';
import { partnerCaller, ProvisioningTestDatabase, TEST_SECRETS } from '../../test/provisioning-test-database.js';
import { OrganizationSecurityRepository } from './organization-security.repository.js';
import { OrganizationsRepository } from './organizations.repository.js';

describe('OrganizationSecurityRepository', () => {
  let database: ProvisioningTestDatabase;
  const policies = new OrganizationSecurityRepository();

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
  });
  afterAll(() => database?.stop());

  const save = (orgId: string, partnerId: string, version: number) =>
    database.worker.transaction((tx) =>
      policies.save(tx, { orgId, partnerId, security: { passwordMinLength: 10 + version }, version }),
    );
  const stored = async (orgId: string) =>
    (await database.admin.query('SELECT security, version FROM organization_security WHERE org_id = $1', [orgId])).rows;

  it('stores the newest version in any order', async () => {
    const partnerId = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    for (const version of [1, 3, 2]) await save(orgId, partnerId, version);
    expect(await stored(orgId)).toEqual([{ security: { passwordMinLength: 13 }, version: '3' }]);
  });

  it('stores nothing for an unknown organization and one of another partner', async () => {
    const orgId = await database.createOrganization(randomUUID());
    await save(orgId, randomUUID(), 1);
    await save(randomUUID(), randomUUID(), 1);
    expect(await stored(orgId)).toEqual([]);
  });

  it('stores a published policy while a request changes the same organization, so that neither waits for the other', async () => {
    const partnerId = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    const { tenants } = database;
    const organizations = new OrganizationsRepository(tenants, TEST_SECRETS);
    await tenants.transaction(partnerCaller(partnerId), async (tx) => {
      await organizations.lock(tx, orgId);
      await save(orgId, partnerId, 1);
      await policies.save(tx, { orgId, partnerId, security: { passwordMinLength: 12 }, version: 2 });
    });
    expect(await stored(orgId)).toEqual([{ security: { passwordMinLength: 12 }, version: '2' }]);
  });
});
