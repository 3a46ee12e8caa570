import { randomUUID } from 'node:crypto';
import { organizationCaller, partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { linkKey } from '../import/import-plan.policy.js';
import { RowOrganizationsRepository } from './row-organizations.repository.js';

describe('RowOrganizationsRepository', () => {
  let database: ProvisioningTestDatabase;
  let repository: RowOrganizationsRepository;
  let partnerId: string;
  let acme: string;
  let beta: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    repository = new RowOrganizationsRepository(database.tenants);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    acme = await database.createOrganization(partnerId, { name: 'Acme' });
    beta = await database.createOrganization(partnerId, { name: 'Beta' });
  });

  const link = (orgId: string, system: string, externalId: string, connectionId: string | null = null) =>
    database.admin.query(
      'INSERT INTO external_link (partner_id, org_id, connection_id, system, external_id) VALUES ($1, $2, $3, $4, $5)',
      [partnerId, orgId, connectionId, system, externalId],
    );

  it('returns names by id, of organizations that the caller can access', async () => {
    const ids = [acme, beta, randomUUID()];
    const find = (as = partnerCaller(partnerId), of = partnerId) => repository.findNamesById(as, of, ids);
    expect(await find()).toEqual(
      new Map([
        [acme, 'acme'],
        [beta, 'beta'],
      ]),
    );
    expect(await find(organizationCaller(partnerId, beta))).toEqual(new Map([[beta, 'beta']]));
    expect(await find(partnerCaller(randomUUID()))).toEqual(new Map());
    expect(await repository.findNamesById(partnerCaller(partnerId), partnerId, [])).toEqual(new Map());
  });

  it('returns names by external id, also of deleted organizations, and not by links of PSA connections', async () => {
    const connectionId = randomUUID();
    await database.admin.query(
      `INSERT INTO psa_connection (id, partner_id, provider, name, name_key) VALUES ($1, $2, 'zendesk', 'n', 'n')`,
      [connectionId, partnerId],
    );
    await link(acme, 'csv', '1');
    await link(beta, 'crm', '1');
    await link(beta, 'zendesk', '7', connectionId);
    await database.admin.query('UPDATE organization SET deleted_at = now() WHERE id = $1', [beta]);
    const identities = ['csv', 'crm', 'other'].map((system) => ({ system, externalId: '1' }));
    const find = (as = partnerCaller(partnerId)) =>
      repository.findNamesByLink(as, partnerId, [...identities, { system: 'zendesk', externalId: '7' }]);
    expect(await find()).toEqual(
      new Map([
        [linkKey('csv', '1'), 'acme'],
        [linkKey('crm', '1'), 'beta'],
      ]),
    );
    expect(await find(partnerCaller(randomUUID()))).toEqual(new Map());
    expect(await repository.findNamesByLink(partnerCaller(partnerId), partnerId, [])).toEqual(new Map());
  });
});
