import { randomUUID } from 'node:crypto';
import { OrganizationAccessDenied } from '@rmm/access';
import { NotFoundError } from '@rmm/service-kit';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
  TEST_SECRETS,
} from '../../test/provisioning-test-database.js';
import { OrganizationsRepository } from './organizations.repository.js';

describe('OrganizationsRepository', () => {
  let database: ProvisioningTestDatabase;
  let organizations: OrganizationsRepository;
  let partnerId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    organizations = new OrganizationsRepository(database.tenants, TEST_SECRETS);
  });
  afterAll(() => database?.stop());
  beforeEach(() => (partnerId = randomUUID()));

  const page = { page: 1, limit: 10 };

  it('returns links, device count and security policy with an organization', async () => {
    const id = await database.createOrganization(partnerId);
    await database.createDevice(partnerId, id);
    await database.createDevice(partnerId, id, { hostname: 'old', status: 'decommissioned' });
    await database.admin.query(
      `INSERT INTO external_link (partner_id, org_id, system, external_id) VALUES ($1, $2, 'csv', '7')`,
      [partnerId, id],
    );
    await database.admin.query(
      `INSERT INTO organization_security (org_id, partner_id, security, version) VALUES ($2, $1, '{"requireMfa":true}', 1)`,
      [partnerId, id],
    );
    expect(await organizations.get(partnerCaller(partnerId), id)).toMatchObject({
      externalLinks: [{ system: 'csv', externalId: '7' }],
      deviceCount: 1,
      security: { requireMfa: true },
    });
  });

  it('lists what the caller sees, filtered and counted', async () => {
    const first = await database.createOrganization(partnerId, { name: '100% Dental' });
    await database.admin.query(`UPDATE organization SET created_at = created_at - interval '1 s' WHERE id = $1`, [
      first,
    ]);
    await database.createOrganization(partnerId, { name: 'Bakery', status: 'suspended' });
    await database.createOrganization(randomUUID(), { name: 'Foreign Dental' });
    const ids = async (filter: object, caller = partnerCaller(partnerId)) =>
      (await organizations.list(caller, filter, page)).rows.map(({ name }) => name);
    expect(await ids({})).toEqual(['Bakery', '100% Dental']);
    expect(await ids({ search: '0% d' })).toEqual(['100% Dental']);
    expect(await ids({ status: 'suspended' })).toEqual(['Bakery']);
    expect(await ids({}, organizationCaller(partnerId, first))).toEqual(['100% Dental']);
    expect((await organizations.list(partnerCaller(partnerId), {}, { page: 2, limit: 1 })).pagination.total).toBe(2);
  });

  it('throws NotFoundError for a deleted and a foreign organization', async () => {
    const id = await database.createOrganization(partnerId);
    await expect(organizations.get(partnerCaller(randomUUID()), id)).rejects.toThrow(NotFoundError);
    await database.admin.query('UPDATE organization SET deleted_at = now() WHERE id = $1', [id]);
    await expect(organizations.get(partnerCaller(partnerId), id)).rejects.toThrow(NotFoundError);
  });

  it('denies access to an organization that is not active', async () => {
    const [trial, suspended] = await Promise.all(
      ['trial', 'suspended'].map((status) => database.createOrganization(partnerId, { status })),
    );
    const caller = partnerCaller(partnerId);
    expect(await organizations.getAccessible(caller, trial)).toEqual({ id: trial, partnerId });
    await expect(organizations.getAccessible(caller, suspended)).rejects.toThrow(OrganizationAccessDenied);
  });

  it('finds the slugs that may collide with a candidate', async () => {
    for (const slug of ['acme', 'acme-2', 'acme-dental']) await database.createOrganization(partnerId, { slug });
    const taken = await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      organizations.listTakenSlugs(tx, partnerId, ['acme']),
    );
    expect([...taken].sort()).toEqual(['acme', 'acme-2']);
  });

  it('finds a candidate that ends in a number, and not its neighbors', async () => {
    for (const slug of ['customer-1', 'customer-2', 'customer-2-2', 'customer-3']) {
      await database.createOrganization(partnerId, { slug });
    }
    const taken = await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      organizations.listTakenSlugs(tx, partnerId, ['customer-2', 'customer-2']),
    );
    expect([...taken].sort()).toEqual(['customer-2', 'customer-2-2']);
  });

  it('raises the version with a change and keeps absent fields', async () => {
    const id = await database.createOrganization(partnerId, { name: 'Before' });
    const changed = await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      organizations.change(tx, id, { name: 'After', settings: { theme: 'dark' } }),
    );
    expect(changed).toMatchObject({ name: 'After', nameKey: 'after', version: '2', status: 'active' });
    expect(changed.settings).toEqual({ theme: 'dark' });
  });
});
