import { randomUUID } from 'node:crypto';
import { countReads, explainStatements, nodesOf } from '@rmm/persistence/testing';
import { partnerCaller, ProvisioningTestDatabase, TEST_SECRETS } from '../../test/provisioning-test-database.js';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import type { GroupWrites } from './import-changes.js';
import { parseImportRows } from './import-rows.js';
import { ImportRepository } from './import.repository.js';
import { toNameSlugs } from './name-slugs.js';

describe('ImportRepository', () => {
  let database: ProvisioningTestDatabase;
  let repository: ImportRepository;
  let partnerId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    repository = new ImportRepository(new OrganizationsRepository(database.tenants, TEST_SECRETS));
  });
  afterAll(() => database?.stop());
  beforeEach(() => (partnerId = randomUUID()));
  const target = () => ({ partnerId, connectionId: null });

  const site = (orgId: string, name: string) => ({
    id: randomUUID(),
    orgId,
    name,
    nameKey: name.toLowerCase(),
    timezone: 'UTC',
    address: null,
    contact: null,
  });
  const buildWrites = (over: Partial<GroupWrites>): GroupWrites => ({
    organizations: [],
    reactivated: [],
    links: [],
    newSites: [],
    sitePatches: [],
    ...over,
  });
  const readRows = async (given: object[]) => {
    const { rows } = await parseImportRows(given);
    return { rows, slugs: await toNameSlugs(rows) };
  };
  const write = (writes: GroupWrites[]) =>
    database.tenants.transaction(partnerCaller(partnerId), (tx) => repository.write(tx, target(), writes));

  it('writes organizations, links and sites and returns them with their versions', async () => {
    const id = randomUUID();
    const written = await write([
      buildWrites({
        organizations: [{ id, name: 'Acme', nameKey: 'acme', slug: 'acme' }],
        links: [{ orgId: id, system: 'csv', externalId: '7', moved: false }],
        newSites: [site(id, 'Main')],
      }),
    ]);
    expect(written.organizations).toMatchObject([{ id, partnerId, slug: 'acme', version: '1', deletedAt: null }]);
    expect(written.newSites).toMatchObject([{ orgId: id, name: 'Main', version: '1' }]);
    const linked = await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      repository.findLinkedId(tx, target(), { system: 'csv', externalId: '7' }),
    );
    expect(linked).toBe(id);
  });

  it('neither finds nor reactivates an erased organization', async () => {
    const id = await database.createOrganization(partnerId, { name: 'Erased organization' });
    await database.admin.query('UPDATE organization SET deleted_at = now(), erased_at = now() WHERE id = $1', [id]);
    const given = await readRows([{ organization: 'Erased organization' }]);
    const state = await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      repository.loadState(tx, target(), given, null),
    );
    expect(state.organizations).toEqual([]);
    expect((await write([buildWrites({ reactivated: [{ id, slug: 'again' }] })])).reactivated).toEqual([]);
  });

  it('reactivates an organization, and applies the last of several patches of a site', async () => {
    const id = await database.createOrganization(partnerId, { status: 'churned' });
    const siteId = await database.createSite(partnerId, id);
    await database.admin.query('UPDATE organization SET deleted_at = now() WHERE id = $1', [id]);
    const patch = (timezone: string) => ({ id: siteId, orgId: id, timezone, address: null, contact: null });
    const written = await write([
      buildWrites({ reactivated: [{ id, slug: 'again' }], sitePatches: [patch('Europe/Berlin')] }),
      buildWrites({ sitePatches: [patch('Europe/Paris')] }),
    ]);
    expect(written.reactivated).toMatchObject([{ id, slug: 'again', status: 'active', deletedAt: null, version: '2' }]);
    expect(written.patchedSites).toMatchObject([{ id: siteId, version: '2' }]);
    const { rows } = await database.admin.query('SELECT timezone FROM site WHERE id = $1', [siteId]);
    expect(rows).toEqual([{ timezone: 'Europe/Paris' }]);
  });

  it('writes nothing to a site that several patches change back', async () => {
    const orgId = await database.createOrganization(partnerId);
    const address = { line1: 'Main Street 1' };
    const stored = { ...site(orgId, 'Main'), address: address as never };
    await write([buildWrites({ newSites: [stored] })]);
    const { id } = stored;
    const patch = (timezone: string) => ({ id, orgId, timezone, address: address as never, contact: null });
    const back = [patch('Asia/Tokyo'), patch('UTC')].map((each) => buildWrites({ sitePatches: [each] }));
    expect((await write(back)).patchedSites).toEqual([]);
    const { rows } = await database.admin.query('SELECT timezone, version FROM site WHERE id = $1', [id]);
    expect(rows).toEqual([{ timezone: 'UTC', version: '1' }]);
  });

  it('loads the organizations that rows match by name or link, of this partner only', async () => {
    const named = await database.createOrganization(partnerId, { name: 'Acme', slug: 'acme' });
    const linked = await database.createOrganization(partnerId, { name: 'Other', slug: 'other' });
    await database.createOrganization(partnerId, { name: 'Unrelated' });
    await database.createOrganization(randomUUID(), { name: 'Acme' });
    await write([buildWrites({ links: [{ orgId: linked, system: 'csv', externalId: '9', moved: false }] })]);
    const given = await readRows([{ organization: 'ACME' }, { organization: 'New', externalId: '9' }]);
    const state = await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      repository.loadState(tx, target(), given, 3),
    );
    expect(state.organizations.map(({ id }) => id).sort()).toEqual([named, linked].sort());
    expect(state.slugs.taken).toEqual(new Set(['acme']));
    expect(state.remainingCap).toBe(3);
  });

  const EXISTING = 20_000;
  const insertExisting = (partner: string) => `
    INSERT INTO organization (partner_id, name, name_key, slug, created_at, updated_at, visible_at)
    SELECT '${partner}', 'Customer ' || n, 'customer ' || n, 'customer-' || n, now(), now(), now()
      FROM generate_series(1, ${EXISTING}) n;
    INSERT INTO external_link (partner_id, org_id, system, external_id)
    SELECT partner_id, id, 'csv', slug FROM organization WHERE partner_id = '${partner}';`;
  const ANALYZE = 'ANALYZE organization, external_link;';

  it.each([
    ['without statistics', () => insertExisting(partnerId)],
    ['with statistics', () => insertExisting(partnerId) + ANALYZE],
    ['with statistics of other partners', () => insertExisting(randomUUID()) + ANALYZE + insertExisting(partnerId)],
  ])('reads each organization and link of a large partner a few times at most, %s', async (_what, prepare) => {
    // The locks come first: autovacuum locks a table before it writes its statistics.
    await database.admin.query(`
      LOCK TABLE organization, external_link IN SHARE UPDATE EXCLUSIVE MODE;
      DELETE FROM pg_statistic WHERE starelid IN ('organization'::regclass, 'external_link'::regclass);
      SET session_replication_role = replica; ${prepare()} SET session_replication_role = DEFAULT`);
    const numbers = Array.from({ length: 1_000 }, (_, n) => n + 10_000);
    const given = await readRows(numbers.map((n) => ({ organization: `Customer ${n}`, externalId: `customer-${n}` })));
    const plans = await database.tenants.transaction(partnerCaller(partnerId), async (tx) => {
      const { explaining, plans: explained } = explainStatements(tx);
      const { organizations } = await repository.loadState(explaining, target(), given, null);
      expect(organizations).toHaveLength(1_000);
      const [moved] = organizations;
      const links = numbers.map((n) => ({ orgId: moved.id, system: 'csv', externalId: `customer-${n}`, moved: true }));
      expect((await repository.write(explaining, target(), [buildWrites({ links })])).movedLinks).toHaveLength(1_000);
      return explained;
    });
    expect(plans).toHaveLength(3);
    expect(Math.max(...plans.map(countReads))).toBeLessThan(3 * EXISTING);
    const nodes = plans.flatMap(nodesOf);
    expect(nodes.map((node) => node['Index Name'])).toContain('external_link_key');
    const scanned = nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name']);
    expect(scanned).toEqual([]);
  });
});
