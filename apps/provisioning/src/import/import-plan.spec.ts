import { parseImportRows, type ImportRow } from './import-rows.js';
import type { ImportState, KnownOrganization } from './import-state.js';
import { planImport } from './import-plan.js';

const rowsOf = (...rows: object[]): ImportRow[] => parseImportRows(rows).rows;

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

const stateOf = (...organizations: KnownOrganization[]): ImportState => ({
  organizations,
  takenSlugs: new Set(organizations.filter((known) => !known.deleted).map((known) => known.slug)),
  remainingCap: null,
});

describe('plan', () => {
  it('groups rows of one external id, and rows of one name however it is spaced and cased', () => {
    const groups = planImport(
      rowsOf(
        { organization: 'Acme', externalId: '1', site: 'North' },
        { organization: 'ACME ', externalId: '1', site: 'South' },
        { organization: 'Beta  Corp' },
        { organization: ' beta corp' },
      ),
      stateOf(),
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

  it('keeps the same id of two systems apart', () => {
    const groups = planImport(
      rowsOf({ organization: 'A', externalId: '1', externalSystem: 'halo' }, { organization: 'B', externalId: '1' }),
      stateOf(),
    );
    expect(groups.map((group) => group.link?.system)).toEqual(['halo', 'csv']);
  });

  it('prefers the link over the name', () => {
    const linked = organization({ id: 'o1', name: 'Renamed', links: [{ system: 'csv', externalId: '1' }] });
    const named = organization({ id: 'o2', name: 'Acme' });
    const [group] = planImport(rowsOf({ organization: 'Acme', externalId: '1' }), stateOf(linked, named));
    expect(group).toMatchObject({ annotation: 'link-match', matchedBy: 'link', match: linked, slug: 'renamed' });
  });

  it('says when the match by name is already linked in the same system', () => {
    const named = organization({ id: 'o1', name: 'Acme', links: [{ system: 'csv', externalId: '9' }] });
    const [same, other] = planImport(
      rowsOf(
        { organization: 'acme', externalId: '1' },
        { organization: 'acme', externalId: '1', externalSystem: 'halo' },
      ),
      stateOf(named),
    );
    expect(same).toMatchObject({ annotation: 'name-match', matchLinkedToSystem: true });
    expect(other).toMatchObject({ annotation: 'name-match', matchLinkedToSystem: false });
  });

  it('meets a soft-deleted organization by link and by name, a live one first', () => {
    const gone = organization({ id: 'o1', name: 'Acme', deleted: true, links: [{ system: 'csv', externalId: '1' }] });
    const [byLink, byName] = planImport(
      rowsOf({ organization: 'Other', externalId: '1' }, { organization: 'Acme' }),
      stateOf(gone),
    );
    expect(byLink).toMatchObject({ annotation: 'matched-soft-deleted', matchedBy: 'link' });
    expect(byName).toMatchObject({ annotation: 'matched-soft-deleted', matchedBy: 'name' });

    const live = organization({ id: 'o2', name: 'Acme' });
    expect(planImport(rowsOf({ organization: 'Acme' }), stateOf(gone, live))[0]).toMatchObject({
      annotation: 'name-match',
      match: live,
    });
  });

  it('calls one external id with two names a conflict that names the rows', () => {
    const groups = planImport(
      rowsOf({ organization: 'Acme', externalId: '1' }, { organization: 'Beta', externalId: '1' }),
      stateOf(),
    );
    expect(groups).toHaveLength(1);
    expect(groups[0]).toMatchObject({ annotation: 'conflict', slug: null });
    expect(groups[0]?.conflictReason).toContain('rows 0, 1');
  });

  it('calls several live organizations of one name a conflict', () => {
    const state = stateOf(
      organization({ id: 'o1', name: 'Acme' }),
      organization({ id: 'o2', name: 'Acme', slug: 'acme-2' }),
    );
    expect(planImport(rowsOf({ organization: 'Acme' }), state)[0]).toMatchObject({
      annotation: 'conflict',
      match: null,
    });
  });

  it('refuses to guess whether a new name with and without external id is one customer', () => {
    const groups = planImport(rowsOf({ organization: 'Acme' }, { organization: 'Acme', externalId: '1' }), stateOf());
    expect(groups.map((group) => group.annotation)).toEqual(['conflict', 'create']);
    expect(groups[0]?.conflictReason).toContain('rows 1');
  });

  it('proposes slugs that collide neither with the stored ones nor with each other', () => {
    const groups = planImport(
      rowsOf({ organization: 'Acme!', externalId: '1' }, { organization: 'Acme?', externalId: '2' }),
      stateOf(organization({ id: 'o1', name: 'Acme' })),
    );
    expect(groups.map((group) => group.slug)).toEqual(['acme-2', 'acme-3']);
  });
});
