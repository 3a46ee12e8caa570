import { randomUUID } from 'node:crypto';
import { partnerCaller, ProvisioningTestDatabase, TEST_SECRETS } from '../../test/provisioning-test-database.js';
import { ContactsRepository, type ContactFields } from './contacts.repository.js';

describe('ContactsRepository', () => {
  let database: ProvisioningTestDatabase;
  let repository: ContactsRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    repository = new ContactsRepository(database.tenants, TEST_SECRETS);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });

  const create = (fields: Partial<ContactFields> = {}) =>
    database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      repository.create(
        tx,
        { partnerId, orgId },
        {
          siteId: null,
          name: 'Kim',
          email: null,
          phone: null,
          mobile: null,
          title: null,
          roles: [],
          isPrimary: false,
          notes: null,
          ...fields,
        },
      ),
    );

  it('stores the key of the name and changes it with the name', async () => {
    const { id, nameKey } = await create({ name: 'Kim  Berg' });
    const renamed = await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      repository.change(tx, id, { name: null, phone: '1' }),
    );
    expect([nameKey, renamed.nameKey]).toEqual(['kim berg', '']);
  });

  it('refuses a second primary contact and one that cannot be reached', async () => {
    await create({ isPrimary: true });
    await expect(create({ isPrimary: true })).rejects.toThrow('contact_primary_key');
    await expect(create({ name: null })).rejects.toThrow('contact_reachable_check');
  });

  it('moves the contacts of a site to the organization', async () => {
    const siteId = await database.createSite(partnerId, orgId);
    await create({ siteId });
    const other = await create({ siteId: await database.createSite(partnerId, orgId, 'Other') });
    const caller = partnerCaller(partnerId);
    await database.tenants.transaction(caller, (tx) => repository.detachSite(tx, orgId, siteId));
    const filter = { orgId, siteIds: null };
    const { rows } = await repository.list(caller, filter, { page: 1, limit: 10 });
    expect(rows.filter((row) => row.siteId !== null).map(({ id }) => id)).toEqual([other.id]);
  });

  it('lists and locks nothing of another partner', async () => {
    const { id } = await create();
    const stranger = partnerCaller(randomUUID());
    const { rows } = await repository.list(stranger, { orgId, siteIds: null }, { page: 1, limit: 10 });
    expect(rows).toEqual([]);
    await expect(database.tenants.transaction(stranger, (tx) => repository.lock(tx, id))).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});
