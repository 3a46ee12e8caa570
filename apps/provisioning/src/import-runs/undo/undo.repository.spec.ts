import { randomUUID } from 'node:crypto';
import { countReads, explainStatements } from '@rmm/persistence/testing';
import { partnerCaller, ProvisioningTestDatabase } from '../../../test/provisioning-test-database.js';
import type { NewImportChange } from '../journal/import-change.types.js';
import { ImportJournalRepository } from '../journal/import-journal.repository.js';
import type { ChangeOutcome, CurrentOrganization, UndoPlan } from './undo-plan.types.js';
import { UndoRepository } from './undo.repository.js';

const NOTHING: UndoPlan = {
  removedOrganizations: [],
  deletedOrganizations: [],
  removedLinks: [],
  movedLinks: [],
  removedSites: [],
  restoredSites: [],
  removedContacts: [],
  restoredContacts: [],
  removedContactLinks: [],
  outcomes: [],
};
const LINK = { system: 'csv', externalId: '7', connectionId: null };

describe('UndoRepository', () => {
  const repository = new UndoRepository();
  const journal = new ImportJournalRepository();
  let database: ProvisioningTestDatabase;
  let partnerId: string;
  let scope: { runId: string; partnerId: string };

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    scope = { runId: randomUUID(), partnerId };
    const run = { ...scope, kind: 'organizations', source: 'rows', connectionId: null, mode: 'update' } as const;
    await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      journal.insertRun(tx, { ...run, total: 1, createdBy: null }),
    );
  });

  const record = (...changes: NewImportChange[]) =>
    database.tenants.transaction(partnerCaller(partnerId), (tx) => journal.insertChanges(tx, scope, changes));
  const listOpen = (limit = 100, caller = partnerCaller(partnerId)) =>
    database.tenants.transaction(caller, (tx) => repository.listOpen(tx, scope, limit));
  const loadCurrent = async () => {
    const changes = await listOpen();
    return database.tenants.transaction(partnerCaller(partnerId), (tx) => repository.loadCurrent(tx, scope, changes));
  };
  const apply = (plan: Partial<UndoPlan>, caller = partnerCaller(partnerId), of = partnerId) =>
    database.tenants.transaction(caller, (tx) =>
      repository.apply(tx, { ...scope, partnerId: of }, { ...NOTHING, ...plan }),
    );
  const siteChange = (orgId: string): NewImportChange => {
    return { orgId, resource: 'site', action: 'create', recordId: randomUUID() };
  };
  const creation = (orgId: string): NewImportChange => {
    return { orgId, resource: 'organization', action: 'create', recordId: orgId };
  };
  const select = async (sql: string, id: string) => (await database.admin.query(sql, [id])).rows;
  async function createLink(orgId: string): Promise<void> {
    await database.admin.query(
      `INSERT INTO external_link (partner_id, org_id, system, external_id) VALUES ($1, $2, 'csv', '7')`,
      [partnerId, orgId],
    );
  }
  const ownersOfLink = async () =>
    (await select('SELECT org_id FROM external_link WHERE partner_id = $1', partnerId)).map(({ org_id }) => org_id);

  it('lists the open changes of complete organizations, about as many as asked for', async () => {
    const [first, second] = [
      await database.createOrganization(partnerId),
      await database.createOrganization(partnerId),
    ].sort();
    await record(siteChange(second), siteChange(first), siteChange(second), siteChange(second), siteChange(first));
    const orgIds = async (limit: number) => (await listOpen(limit)).map(({ orgId }) => orgId);
    expect(await orgIds(1)).toEqual([first, first]);
    expect(await orgIds(4)).toEqual([first, first]);
    expect(await orgIds(9)).toEqual([first, first, second, second, second]);
    const [one, two] = await listOpen(1);
    expect(BigInt(one.seq)).toBeLessThan(BigInt(two.seq));
  });

  it('lists a change no more after it is settled', async () => {
    const orgId = await database.createOrganization(partnerId);
    await record(siteChange(orgId), siteChange(orgId));
    const [{ seq }, other] = await listOpen();
    await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      repository.settle(tx, scope, [{ seq, outcome: 'kept', reason: 'in_use' }]),
    );
    expect(await listOpen()).toEqual([other]);
    const settled = 'SELECT outcome, reason FROM import_change WHERE run_id = $1 ORDER BY seq LIMIT 1';
    expect(await select(settled, scope.runId)).toEqual([{ outcome: 'kept', reason: 'in_use' }]);
  });

  it('shows the changes of a run neither to another partner nor for organizations without access', async () => {
    const orgId = await database.createOrganization(partnerId);
    const other = await database.createOrganization(partnerId);
    await record(siteChange(orgId), siteChange(other));
    expect(await listOpen(9, partnerCaller(randomUUID()))).toEqual([]);
    const restricted = partnerCaller(partnerId);
    Object.assign(restricted.tenant, { orgAccess: 'selected', orgIds: [orgId] });
    expect((await listOpen(9, restricted)).map((change) => change.orgId)).toEqual([orgId]);
  });

  it.each<[string, (orgId: string) => Promise<unknown>, boolean]>([
    ['nothing', () => Promise.resolve(), false],
    ['a site', (orgId) => database.createSite(partnerId, orgId), false],
    ['a device', (orgId) => database.createDevice(partnerId, orgId), true],
    [
      'a contact',
      (orgId) =>
        database.admin.query(`INSERT INTO contact (partner_id, org_id, name) VALUES ($1, $2, 'Ann')`, [
          partnerId,
          orgId,
        ]),
      true,
    ],
  ])('reports whether an organization with %s is in use', async (_, build, isUsed) => {
    const orgId = await database.createOrganization(partnerId);
    await record(creation(orgId));
    await build(orgId);
    const { organizations } = await loadCurrent();
    expect(organizations).toMatchObject([{ id: orgId, isDeleted: false, isUsed, digest: expect.any(String) }]);
  });

  it('reports what was created in a reactivated organization since, and not what it had before', async () => {
    const orgId = await database.createOrganization(partnerId);
    await database.createDevice(partnerId, orgId);
    await database.admin.query(`UPDATE device SET created_at = now() - interval '1 hour' WHERE org_id = $1`, [orgId]);
    await record({ ...creation(orgId), action: 'reactivate' });
    expect((await loadCurrent()).organizations[0]?.usedSince).toEqual([]);
    const siteId = await database.createSite(partnerId, orgId);
    await database.admin.query(`UPDATE site SET created_at = now() + interval '1 hour' WHERE id = $1`, [siteId]);
    const [{ seq }] = await listOpen();
    expect((await loadCurrent()).organizations[0]?.usedSince).toEqual([seq]);
  });

  it('loads the site that a contact had before, to see whether it can go back', async () => {
    const orgId = await database.createOrganization(partnerId);
    const siteId = await database.createSite(partnerId, orgId);
    await database.admin.query('UPDATE site SET deleted_at = now() WHERE id = $1', [siteId]);
    const contact = { orgId, resource: 'contact', action: 'update', recordId: randomUUID() } as const;
    await record({ ...contact, before: { siteId } });
    const { sites, contacts } = await loadCurrent();
    expect(sites).toMatchObject([{ id: siteId, isDeleted: true, isUsed: false }]);
    expect(contacts).toEqual([]);
  });

  it('removes organizations and sites and returns them with their next version', async () => {
    const orgId = await database.createOrganization(partnerId);
    const siteId = await database.createSite(partnerId, orgId);
    const written = await apply({ removedOrganizations: [orgId], removedSites: [siteId] });
    expect(written.organizations).toMatchObject([{ id: orgId, version: '2', deletedAt: expect.any(Date) }]);
    expect(written.removedSites).toMatchObject([{ id: siteId, orgId, version: '2' }]);
    const undone = 'SELECT import_undone FROM organization WHERE id = $1';
    expect(await select(undone, orgId)).toEqual([{ import_undone: true }]);
  });

  it('deletes a reactivated organization as of its former time, with its former slug and status', async () => {
    const orgId = await database.createOrganization(partnerId, { slug: 'acme-2' });
    const former = { slug: 'acme', status: 'suspended', deletedAt: '2026-01-02T03:04:05.678Z' };
    await apply({ deletedOrganizations: [{ id: orgId, ...former }] });
    const columns = 'SELECT slug, status, deleted_at, import_undone FROM organization WHERE id = $1';
    expect(await select(columns, orgId)).toEqual([
      { slug: 'acme', status: 'suspended', deleted_at: new Date(former.deletedAt), import_undone: false },
    ]);
  });

  it('restores a site and a contact with every value, also absent ones', async () => {
    const orgId = await database.createOrganization(partnerId);
    const siteId = await database.createSite(partnerId, orgId);
    const inserted = await database.admin.query<{ id: string }>(
      `INSERT INTO contact (partner_id, org_id, site_id, name, email, roles)
       VALUES ($1, $2, $3, 'Ann', 'ann@x.example', '{billing}') RETURNING id`,
      [partnerId, orgId, siteId],
    );
    const contactId = inserted.rows[0].id;
    const address = { city: 'Rome' };
    const values = { siteId: null, name: 'Bob', nameKey: 'bob', email: null, phone: '1', mobile: null, title: 'Dr' };
    const written = await apply({
      restoredSites: [{ id: siteId, timezone: 'Europe/Rome', address, contact: null }],
      restoredContacts: [{ id: contactId, ...values, roles: ['admin', 'technical'] }],
    });
    expect(written.restoredSites).toMatchObject([{ id: siteId, version: '2' }]);
    const site = await select('SELECT timezone, address, contact FROM site WHERE id = $1', siteId);
    expect(site).toEqual([{ timezone: 'Europe/Rome', address, contact: null }]);
    expect(await select('SELECT * FROM contact WHERE id = $1', contactId)).toMatchObject([
      {
        site_id: null,
        name: 'Bob',
        name_key: 'bob',
        email: null,
        phone: '1',
        title: 'Dr',
        roles: ['admin', 'technical'],
      },
    ]);
  });

  it('removes a contact with its links, or one link alone', async () => {
    const orgId = await database.createOrganization(partnerId);
    const { rows } = await database.admin.query<{ id: string }>(
      `INSERT INTO contact (partner_id, org_id, name) VALUES ($1, $2, 'Ann'), ($1, $2, 'Bob') RETURNING id`,
      [partnerId, orgId],
    );
    const [ann, bob] = rows.map(({ id }) => id);
    await database.admin.query(
      `INSERT INTO contact_link (partner_id, org_id, contact_id, system, external_id)
       VALUES ($1, $2, $3, 'csv', '1'), ($1, $2, $4, 'csv', '2'), ($1, $2, $4, 'csv', '3')`,
      [partnerId, orgId, ann, bob],
    );
    const link = { orgId, contactId: bob, system: 'csv', externalId: '2' };
    await apply({ removedContacts: [ann], removedContactLinks: [link] });
    const left = await select('SELECT contact_id, external_id FROM contact_link WHERE org_id = $1', orgId);
    expect(left).toEqual([{ contact_id: bob, external_id: '3' }]);
  });

  it('moves a link back to the organization that had it', async () => {
    const orgId = await database.createOrganization(partnerId);
    const formerOrgId = await database.createOrganization(partnerId);
    await createLink(orgId);
    await apply({ movedLinks: [{ orgId, formerOrgId, ...LINK }] });
    expect(await ownersOfLink()).toEqual([formerOrgId]);
  });

  it('removes a link whose former organization was erased, so that the next import can store it', async () => {
    const orgId = await database.createOrganization(partnerId);
    const formerOrgId = await database.createOrganization(partnerId);
    await database.admin.query('UPDATE organization SET deleted_at = now(), erased_at = now() WHERE id = $1', [
      formerOrgId,
    ]);
    await createLink(orgId);
    await apply({ removedOrganizations: [orgId], movedLinks: [{ orgId, formerOrgId, ...LINK }] });
    expect(await ownersOfLink()).toEqual([]);
  });

  it('changes no record of another partner', async () => {
    const orgId = await database.createOrganization(partnerId);
    const siteId = await database.createSite(partnerId, orgId);
    await createLink(orgId);
    const plan = { removedOrganizations: [orgId], removedSites: [siteId], removedLinks: [{ orgId, ...LINK }] };
    const stranger = randomUUID();
    const nothing = { organizations: [], removedSites: [], restoredSites: [] };
    expect(await apply(plan, partnerCaller(stranger))).toEqual(nothing); // row security
    expect(await apply(plan, partnerCaller(partnerId), stranger)).toEqual(nothing); // predicate
    expect(await ownersOfLink()).toEqual([orgId]);
  });

  const TABLES = ['organization', 'site', 'contact', 'external_link', 'contact_link', 'import_change'];
  const IMPORTED = 4_000;
  const insertRun = (of: { runId: string; partnerId: string }) => `
    INSERT INTO organization (partner_id, name, name_key, slug, created_at, updated_at, visible_at)
    SELECT '${of.partnerId}', 'Customer ' || n, 'customer ' || n, 'customer-' || n, now(), now(), now()
      FROM generate_series(1, ${IMPORTED}) n;
    INSERT INTO site (partner_id, org_id, name, name_key, created_at, updated_at)
    SELECT partner_id, id, 'Main', 'main', now(), now() FROM organization WHERE partner_id = '${of.partnerId}';
    INSERT INTO external_link (partner_id, org_id, system, external_id)
    SELECT partner_id, id, 'csv', slug FROM organization WHERE partner_id = '${of.partnerId}';
    INSERT INTO contact (partner_id, org_id, name, created_at, updated_at)
    SELECT partner_id, id, 'Ann', now(), now() FROM organization WHERE partner_id = '${of.partnerId}';
    INSERT INTO contact_link (partner_id, org_id, contact_id, system, external_id)
    SELECT partner_id, org_id, id, 'csv', '1' FROM contact WHERE partner_id = '${of.partnerId}';
    INSERT INTO import_change (run_id, partner_id, org_id, resource, action, record_id)
    SELECT '${of.runId}', partner_id, id, 'organization', 'create', id
      FROM organization WHERE partner_id = '${of.partnerId}';`;
  const ANALYZE = `ANALYZE ${TABLES.join(', ')};`;
  const other = () => insertRun({ runId: randomUUID(), partnerId: randomUUID() });
  /** Almost all rows of these tables are those of one organization, also as far as the statistics know. */
  const insertLargeOrganization = (of = { partner: randomUUID(), org: randomUUID() }) => `
    INSERT INTO device (partner_id, org_id, hostname, os_type, created_at, updated_at)
    SELECT '${of.partner}', '${of.org}', 'pc-' || n, 'linux', now(), now() FROM generate_series(1, ${IMPORTED}) n;
    INSERT INTO contact (partner_id, org_id, name, created_at, updated_at)
    SELECT '${of.partner}', '${of.org}', 'Ann', now(), now() FROM generate_series(1, ${IMPORTED});
    INSERT INTO device_group (partner_id, org_id, name, name_key, created_at, updated_at)
    SELECT '${of.partner}', '${of.org}', 'Group ' || n, 'group ' || n, now(), now() FROM generate_series(1, ${IMPORTED}) n;
    ANALYZE device, contact, device_group;`;

  /** Every kind of write, of each of the organizations. */
  async function planOf(organizations: readonly CurrentOrganization[]): Promise<UndoPlan> {
    const orgIds = organizations.map(({ id }) => id);
    const former = { slug: 'former', status: 'active', deletedAt: '2026-01-02T03:04:05.678Z' };
    const siteIds = organizations.flatMap(({ sites }) => sites.map(({ id }) => id));
    const links = organizations.flatMap(({ id: orgId, links: own }) => own.map((link) => ({ orgId, ...link })));
    const half = links.length / 2; // each organization has one link and one contact
    const contacts = await select('SELECT id, org_id FROM contact WHERE partner_id = $1 ORDER BY id', partnerId);
    const inChunk = contacts.filter(({ org_id }) => orgIds.includes(org_id));
    const values = { siteId: null, name: 'Bob', nameKey: 'bob', email: null, phone: '1', mobile: null, title: 'Dr' };
    return {
      ...NOTHING,
      removedOrganizations: orgIds,
      deletedOrganizations: orgIds.map((id, n) => ({ id, ...former, slug: `former-${n}` })),
      removedSites: siteIds,
      restoredSites: siteIds.map((id) => ({ id, timezone: 'Europe/Rome', address: null, contact: null })),
      removedLinks: links.slice(half),
      movedLinks: links.slice(0, half).map((link) => ({ ...link, formerOrgId: orgIds[0] })),
      removedContactLinks: inChunk.map(({ id, org_id: orgId }) => {
        return { orgId, contactId: id, system: 'csv', externalId: '1' };
      }),
      removedContacts: inChunk.slice(half).map(({ id }) => id),
      restoredContacts: inChunk.slice(0, half).map(({ id }) => ({ id, ...values, roles: [] })),
    };
  }

  it.each([
    ['without statistics', () => insertRun(scope)],
    ['with statistics', () => insertRun(scope) + ANALYZE],
    ['with statistics of other partners', () => other() + other() + ANALYZE + insertRun(scope)],
    ['next to an organization with many records', () => insertLargeOrganization() + insertRun(scope)],
  ])('reads few rows for each organization of a large import, %s', async (_what, prepare) => {
    // The locks come first: autovacuum locks a table before it writes its statistics.
    await database.admin.query(`
      LOCK TABLE ${TABLES.join(', ')} IN SHARE UPDATE EXCLUSIVE MODE;
      DELETE FROM pg_statistic WHERE starelid = ANY (ARRAY['${TABLES.join("','")}']::regclass[]);
      SET session_replication_role = replica; ${prepare()} SET session_replication_role = DEFAULT`);
    const changes = await listOpen(1_000);
    const plans = await database.tenants.transaction(partnerCaller(partnerId), async (tx) => {
      const { explaining, plans: explained } = explainStatements(tx);
      const { organizations } = await repository.loadCurrent(explaining, scope, changes);
      expect(organizations).toHaveLength(changes.length);
      await repository.apply(explaining, scope, await planOf(organizations));
      const outcomes = changes.map(({ seq }): ChangeOutcome => ({ seq, outcome: 'removed', reason: null }));
      await repository.settle(explaining, scope, outcomes);
      return explained;
    });
    expect(Math.max(...plans.map(countReads))).toBeLessThan(10 * IMPORTED);
  });
});
