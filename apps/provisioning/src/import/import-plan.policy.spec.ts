import { organizationSlug } from '../organizations/organization-slug.js';
import { planImport, proposeSlugs, type PlannedGroup } from './import-plan.policy.js';
import { parseImportRows, type ImportRow } from './import-rows.js';
import type { KnownOrganization } from './import-state.types.js';

const rowsOf = async (...rows: object[]): Promise<ImportRow[]> => (await parseImportRows(rows)).rows;

const organization = (given: Partial<KnownOrganization> & { id: string; name: string }): KnownOrganization => ({
  nameKey: given.name.toLowerCase(),
  slug: given.name.toLowerCase().replaceAll(' ', '-'),
  status: 'active',
  deleted: false,
  version: 1,
  links: [],
  sites: [],
  ...given,
});

/** Plans rows and proposes slugs, as a preview does. */
async function plan(rows: readonly ImportRow[], ...organizations: KnownOrganization[]): Promise<PlannedGroup[]> {
  const groups = await planImport(rows, organizations);
  await proposeSlugs(groups, {
    byName: new Map(rows.map((row) => [row.organization, organizationSlug(row.organization)])),
    taken: new Set(organizations.filter((known) => !known.deleted).map((known) => known.slug)),
  });
  return groups;
}

describe('planImport', () => {
  it('groups rows by external id, and by name regardless of spacing and case', async () => {
    const groups = await plan(
      await rowsOf(
        { organization: 'Acme', externalId: '1', site: 'North' },
        { organization: 'ACME ', externalId: '1', site: 'South' },
        { organization: 'Beta  Corp' },
        { organization: ' beta corp' },
      ),
    );
    expect(groups.map((group) => group.rows.map((row) => row.index))).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect(groups.map((group) => [group.annotation, group.slug])).toEqual([
      ['create', 'acme'],
      ['create', 'beta-corp'],
    ]);
  });

  it('separates equal ids of two systems', async () => {
    const groups = await plan(
      await rowsOf(
        { organization: 'A', externalId: '1', externalSystem: 'halo' },
        { organization: 'B', externalId: '1' },
      ),
    );
    expect(groups.map((group) => group.link?.system)).toEqual(['halo', 'csv']);
  });

  it('marks a match by name to which an earlier row gives a link of the same system', async () => {
    const groups = await plan(
      await rowsOf(
        { organization: 'Acme', externalId: '1', externalSystem: 'crm' },
        { organization: 'ACME', externalId: '2', externalSystem: 'erp' },
        { organization: 'acme', externalId: '3', externalSystem: 'crm' },
        { organization: 'Acme' },
      ),
      organization({ id: 'o1', name: 'Acme' }),
    );
    expect(groups.map(({ matchLinkedToSystem }) => matchLinkedToSystem)).toEqual([false, false, true, false]);
  });

  it('prefers the link over the name', async () => {
    const linked = organization({ id: 'o1', name: 'Renamed', links: [{ system: 'csv', externalId: '1' }] });
    const named = organization({ id: 'o2', name: 'Acme' });
    const [group] = await plan(await rowsOf({ organization: 'Acme', externalId: '1' }), linked, named);
    expect(group).toMatchObject({ annotation: 'link-match', matchedBy: 'link', match: linked, slug: 'renamed' });
  });

  it('reports that a name match is already linked in the same system', async () => {
    const named = organization({ id: 'o1', name: 'Acme', links: [{ system: 'csv', externalId: '9' }] });
    const [same, other] = await plan(
      await rowsOf(
        { organization: 'acme', externalId: '1' },
        { organization: 'acme', externalId: '1', externalSystem: 'halo' },
      ),
      named,
    );
    expect(same).toMatchObject({ annotation: 'name-match', matchLinkedToSystem: true });
    expect(other).toMatchObject({ annotation: 'name-match', matchLinkedToSystem: false });
  });

  it('matches a soft-deleted organization by link and by name, a live one first', async () => {
    const gone = organization({ id: 'o1', name: 'Acme', deleted: true, links: [{ system: 'csv', externalId: '1' }] });
    const [byLink, byName] = await plan(
      await rowsOf({ organization: 'Other', externalId: '1' }, { organization: 'Acme' }),
      gone,
    );
    expect(byLink).toMatchObject({ annotation: 'matched-soft-deleted', matchedBy: 'link' });
    expect(byName).toMatchObject({ annotation: 'matched-soft-deleted', matchedBy: 'name' });

    const live = organization({ id: 'o2', name: 'Acme' });
    expect((await plan(await rowsOf({ organization: 'Acme' }), gone, live))[0]).toMatchObject({
      annotation: 'name-match',
      match: live,
    });
  });

  it('reports a conflict with its rows for one external id with two names', async () => {
    const groups = await plan(
      await rowsOf({ organization: 'Acme', externalId: '1' }, { organization: 'Beta', externalId: '1' }),
    );
    expect(groups).toHaveLength(1);
    expect(groups[0]).toMatchObject({ annotation: 'conflict', slug: null });
    expect(groups[0]?.conflictReason).toContain('rows 0, 1');
  });

  it('reports a conflict for several live organizations of one name', async () => {
    const stored = [organization({ id: 'o1', name: 'Acme' }), organization({ id: 'o2', name: 'Acme', slug: 'acme-2' })];
    expect((await plan(await rowsOf({ organization: 'Acme' }), ...stored))[0]).toMatchObject({
      annotation: 'conflict',
      match: null,
    });
  });

  it('reports a conflict for a new name with and without an external id', async () => {
    const groups = await plan(await rowsOf({ organization: 'Acme' }, { organization: 'Acme', externalId: '1' }));
    expect(groups.map((group) => group.annotation)).toEqual(['conflict', 'create']);
    expect(groups[0]?.conflictReason).toContain('rows 1');
  });

  it('proposes slugs that are unique among stored and proposed ones', async () => {
    const groups = await plan(
      await rowsOf({ organization: 'Acme!', externalId: '1' }, { organization: 'Acme?', externalId: '2' }),
      organization({ id: 'o1', name: 'Acme' }),
    );
    expect(groups.map((group) => group.slug)).toEqual(['acme-2', 'acme-3']);
  });

  it('lets other work of the process run while it plans many rows', async () => {
    const [row] = await rowsOf({ organization: 'Acme' });
    const rows = Array.from({ length: 50_000 }, (_, index) => ({
      ...row,
      ...{ index, nameKey: `acme ${index}`, organization: `Acme ${index}` },
    }));
    let ticks = 0;
    const count = setInterval(() => (ticks += 1), 1);
    const groups = await planImport(rows, []);
    clearInterval(count);
    expect(groups).toHaveLength(50_000);
    expect(ticks).toBeGreaterThan(1);
  });
});
