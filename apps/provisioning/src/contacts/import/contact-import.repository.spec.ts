import { randomUUID } from 'node:crypto';
import { partnerCaller, ProvisioningTestDatabase } from '../../../test/provisioning-test-database.js';
import { ContactImportRepository } from './contact-import.repository.js';
import type { ContactWrite, ImportedContact } from './contact-plan.policy.js';
import { parseContactRows } from './contact-rows.js';

describe('ContactImportRepository', () => {
  const repository = new ContactImportRepository();
  let database: ProvisioningTestDatabase;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId, { name: 'Acme' });
  });

  const contact = (fields: Partial<ImportedContact> = {}): ImportedContact => ({
    id: randomUUID(),
    orgId,
    siteId: null,
    name: 'Kim',
    nameKey: 'kim',
    email: 'kim@acme.example',
    phone: null,
    mobile: null,
    title: null,
    roles: ['billing'],
    ...fields,
  });
  const write = (...writes: ContactWrite[]) =>
    database.tenants.transaction(partnerCaller(partnerId), (tx) => repository.write(tx, partnerId, writes));
  const loadState = async (rows: object[], maxContacts = 10, caller = partnerCaller(partnerId)) => {
    const parsed = await parseContactRows(rows);
    return database.tenants.transaction(caller, (tx) => repository.loadState(tx, partnerId, parsed.rows, maxContacts));
  };

  it('writes contacts and links, and reads what the rows refer to', async () => {
    const [kim, lee] = [contact(), contact({ name: 'Lee', nameKey: 'lee', email: null, phone: '1' })];
    const link = { system: 'csv', externalId: 'L' };
    await write({ contact: kim, change: 'insert', link: null }, { contact: lee, change: 'insert', link });
    await write({ contact: { ...kim, title: 'CTO', roles: [] }, change: 'update', link: null });
    const siteId = await database.createSite(partnerId, orgId, 'Main');
    const state = await loadState([
      { organization: 'ACME', email: 'KIM@acme.example', site: 'main' },
      { organizationId: orgId, name: 'x', externalId: 'L' },
    ]);
    expect(state).toMatchObject({
      organizations: [{ id: orgId, name: 'Acme', contacts: 2 }],
      sites: [{ id: siteId, orgId, nameKey: 'main' }],
      links: [{ orgId, ...link, contactId: lee.id }],
    });
    expect(new Set(state.contacts)).toEqual(new Set([{ ...kim, title: 'CTO', roles: [] }, lee]));
  });

  it('writes nothing for a contact that keeps its values, and returns the former values of another', async () => {
    const [kim, lee] = [contact(), contact({ name: 'Lee', nameKey: 'lee' })];
    await write({ contact: kim, change: 'insert', link: null }, { contact: lee, change: 'insert', link: null });
    const stamps = async () =>
      (await database.admin.query('SELECT id, xmin, updated_at FROM contact WHERE org_id = $1 ORDER BY id', [orgId]))
        .rows;
    const before = await stamps();
    const unchanged = { contact: kim, change: 'update', link: null } as const;
    expect((await write({ ...unchanged, contact: { ...kim, phone: '1' } }, unchanged)).updated).toEqual([]);
    expect(await stamps()).toEqual(before);
    const renamed = { contact: { ...lee, name: 'Leo', nameKey: 'leo' }, change: 'update', link: null } as const;
    const { updated } = await write(unchanged, renamed);
    expect(updated).toMatchObject([{ id: lee.id, before: { name: 'Lee', phone: null, roles: ['billing'] } }]);
  });

  it('counts contacts up to the limit', async () => {
    await write(...Array.from({ length: 5 }, () => ({ contact: contact(), change: 'insert', link: null }) as const));
    expect((await loadState([{ organizationId: orgId, name: 'x' }], 3)).organizations[0].contacts).toBe(3);
  });

  it('sees neither suspended, deleted nor foreign organizations', async () => {
    const suspended = await database.createOrganization(partnerId, { status: 'suspended' });
    const foreign = await database.createOrganization(randomUUID());
    const rows = [suspended, foreign].map((organizationId) => ({ organizationId, name: 'x' }));
    expect((await loadState(rows)).organizations).toEqual([]);
    const rowsOfPartner = [{ organizationId: orgId, name: 'x' }];
    expect((await loadState(rowsOfPartner, 10, partnerCaller(randomUUID()))).organizations).toEqual([]);
  });
});
