import { organizationSlug } from '../organizations/organization-slug.js';
import { decideImport, type ImportMode } from './import-decision.policy.js';
import { planImport } from './import-plan.policy.js';
import { parseImportRows } from './import-rows.js';
import type { ImportState, KnownOrganization, KnownSite } from './import-state.types.js';

const site = (given: Partial<KnownSite> & { id: string; name: string }): KnownSite => ({
  nameKey: given.name.toLowerCase(),
  timezone: 'UTC',
  address: null,
  contact: null,
  version: 1,
  ...given,
});

const acme = (given: Partial<KnownOrganization> = {}): KnownOrganization => ({
  id: 'acme-id',
  name: 'Acme',
  nameKey: 'acme',
  slug: 'acme',
  status: 'active',
  deleted: false,
  version: 1,
  links: [],
  sites: [],
  ...given,
});

const LINKED = [{ system: 'csv', externalId: '1' }];

async function run(
  rows: object[],
  organizations: KnownOrganization[] = [],
  mode: ImportMode = 'skip',
  remainingCap?: number,
) {
  const { rows: parsed } = await parseImportRows(rows);
  const state: ImportState = {
    organizations,
    slugs: {
      byName: new Map(parsed.map((row) => [row.organization, organizationSlug(row.organization)])),
      taken: new Set(organizations.filter((known) => !known.deleted).map((known) => known.slug)),
    },
    remainingCap: remainingCap ?? null,
  };
  let ids = 0;
  const plan = await planImport(parsed, organizations);
  const decisions = await decideImport(plan, state, mode, () => `new-${(ids += 1)}`);
  return {
    decisions,
    imported: decisions.flatMap((decision) => decision.imported),
    updated: decisions.flatMap((decision) => decision.updated),
    skipped: decisions.flatMap((decision) => decision.skipped),
    errors: decisions.flatMap((decision) => decision.errors),
    writes: decisions.flatMap((decision) => decision.writes ?? []),
  };
}

describe('decideImport, errors', () => {
  it.each<[string, object, Partial<KnownOrganization>[], string | undefined]>([
    ['an ambiguous name', {}, [{}, { id: 'other-id' }], 'organization'],
    ['a changed annotation', { expectedAnnotation: 'create' }, [{}], 'expectedAnnotation'],
    [
      'another match',
      { expectedOrganizationId: '10000000-0000-4000-8000-000000000001' },
      [{}],
      'expectedOrganizationId',
    ],
    ['an unconfirmed name', {}, [{}], 'expectedAnnotation'],
    ['a deleted match', {}, [{ deleted: true }], 'reactivate'],
    ['a second link', { externalId: '2', expectedAnnotation: 'name-match' }, [{ links: LINKED }], 'externalId'],
    ['a cap', {}, [], undefined],
  ])('name the field to blame for %s', async (_, row, organizations, field) => {
    const { errors } = await run([{ organization: 'Acme', ...row }], organizations.map(acme), 'skip', 0);
    expect(errors).toHaveLength(1);
    expect(errors[0].field).toBe(field);
  });

  it('name the field to blame for rows that contradict each other', async () => {
    const { errors } = await run([
      { organization: 'Acme', externalId: '1' },
      { organization: 'Beta', externalId: '1' },
      { organization: 'Gamma', externalId: '2' },
      { organization: 'Gamma' },
    ]);
    expect(errors.map(({ index, field }) => [index, field])).toEqual([
      [0, 'externalId'],
      [1, 'externalId'],
      [3, 'organization'],
    ]);
  });
});

describe('decideImport, create', () => {
  it('creates the organization, its link and every named site once', async () => {
    const { imported, writes } = await run([
      { organization: 'Acme', externalId: '1', site: 'North', timezone: 'Europe/Berlin' },
      { organization: 'Acme', externalId: '1', site: 'south' },
      { organization: 'Acme', externalId: '1', site: 'NORTH', contact: { email: 'A@b.example' } },
    ]);
    expect(imported.map((item) => [item.index, item.siteName, item.createdLink])).toEqual([
      [0, 'North', true],
      [1, 'south', true],
      [2, 'North', true],
    ]);
    expect(writes).toHaveLength(1);
    expect(writes[0]?.links).toEqual([{ orgId: 'new-1', system: 'csv', externalId: '1', moved: false }]);
    expect(writes[0]?.newSites).toMatchObject([
      { name: 'North', timezone: 'Europe/Berlin', contact: { email: 'a@b.example' } },
      { name: 'south', timezone: 'UTC', contact: null },
    ]);
  });

  it('names the default site after the organization', async () => {
    const { imported, writes } = await run([{ organization: 'Acme', address: 'Main Street 1' }]);
    expect(imported[0]).toMatchObject({ siteName: 'Acme', createdLink: false, slug: 'acme' });
    expect(writes[0]?.newSites).toMatchObject([{ name: 'Acme', address: { line1: 'Main Street 1', city: null } }]);
  });

  it('accepts organizations up to the cap in the order of the file', async () => {
    const { imported, errors } = await run(
      [{ organization: 'A' }, { organization: 'B' }, { organization: 'C' }],
      [],
      'skip',
      2,
    );
    expect(imported.map((item) => item.organization)).toEqual(['A', 'B']);
    expect(errors).toMatchObject([{ index: 2, organization: 'C', code: 'organization-limit-reached' }]);
  });
});

describe('decideImport, match', () => {
  it.each([
    ['create', 'annotation-changed'],
    ['name-match', 'annotation-changed'],
  ])('refuses a row that was %s and is linked now', async (expectedAnnotation, code) => {
    const { errors, writes } = await run(
      [{ organization: 'Acme', externalId: '1', expectedAnnotation }],
      [acme({ links: LINKED })],
    );
    expect(errors).toMatchObject([{ index: 0, code }]);
    expect(writes).toEqual([]);
  });

  it('refuses a row that matches another organization than expected', async () => {
    const expectedOrganizationId = '5f0cf4c4-6f0c-4a68-8f41-3d7b2f2a0001';
    const { errors } = await run(
      [{ organization: 'Acme', expectedAnnotation: 'name-match', expectedOrganizationId }],
      [acme()],
    );
    expect(errors).toMatchObject([{ code: 'match-changed' }]);
  });

  it('skips a link match without a write', async () => {
    const { skipped, writes } = await run(
      [{ organization: 'Acme', externalId: '1', site: 'New' }],
      [acme({ links: LINKED })],
    );
    expect(skipped).toMatchObject([{ organizationId: 'acme-id', reason: 'already_linked', createdLink: false }]);
    expect(writes).toEqual([]);
  });

  it('refuses all rows of an unconfirmed name match', async () => {
    const { errors, writes } = await run(
      [{ organization: 'Acme', expectedAnnotation: 'name-match' }, { organization: 'acme' }],
      [acme()],
    );
    expect(errors.map((error) => [error.index, error.code])).toEqual([
      [0, 'name-match-unconfirmed'],
      [1, 'name-match-unconfirmed'],
    ]);
    expect(writes).toEqual([]);
  });

  it.each(['skip', 'update'] as const)('stores the link of a confirmed name match in mode %s', async (mode) => {
    const rows = [{ organization: 'Acme', externalId: '7', expectedAnnotation: 'name-match' }];
    const { writes, skipped, updated } = await run(rows, [acme({ sites: [site({ id: 's1', name: 'Acme' })] })], mode);
    expect(writes[0]?.links).toEqual([{ orgId: 'acme-id', system: 'csv', externalId: '7', moved: false }]);
    expect([...skipped, ...updated]).toMatchObject([{ organizationId: 'acme-id', createdLink: true }]);
  });

  it('links an organization once per system, also within one file', async () => {
    const confirmed = { organization: 'Acme', expectedAnnotation: 'name-match' };
    expect((await run([{ ...confirmed, externalId: '7' }], [acme({ links: LINKED })])).errors).toMatchObject([
      { code: 'match-already-linked' },
    ]);
    const twice = await run(
      [
        { ...confirmed, externalId: '7' },
        { ...confirmed, externalId: '8' },
      ],
      [acme()],
    );
    expect(twice.skipped).toMatchObject([{ index: 0, createdLink: true }]);
    expect(twice.errors).toMatchObject([{ index: 1, code: 'match-already-linked' }]);
  });

  it('creates a separate organization with forceCreate unless the row is in conflict', async () => {
    const forced = await run([{ organization: 'Acme', forceCreate: true }], [acme()]);
    expect(forced.imported).toMatchObject([{ organizationId: 'new-1', slug: 'acme-2' }]);
    const conflict = await run(
      [
        { organization: 'A', externalId: '1', forceCreate: true },
        { organization: 'B', externalId: '1', forceCreate: true },
      ],
      [],
    );
    expect(conflict.errors.map((error) => error.code)).toEqual(['row-conflict', 'row-conflict']);
  });
});

describe('decideImport, soft-deleted', () => {
  it('refuses a deleted match without reactivate', async () => {
    expect((await run([{ organization: 'Acme' }], [acme({ deleted: true })])).errors).toMatchObject([
      { code: 'soft-deleted-unconfirmed' },
    ]);
  });

  it('reactivates the organization once with a free slug and counts it against the cap', async () => {
    const rows = [
      { organization: 'Acme', externalId: '1', reactivate: true },
      { organization: 'Acme', reactivate: true },
    ];
    const gone = acme({ deleted: true, links: LINKED });
    const other = acme({ id: 'other', name: 'Other', nameKey: 'other', slug: 'acme' });
    const { updated, writes } = await run(rows, [gone, other], 'skip', 1);
    expect(updated).toMatchObject([{ reactivated: true }, { reactivated: true }]);
    expect(writes.flatMap((write) => write.reactivated)).toEqual([{ id: 'acme-id', slug: 'acme-2' }]);
    expect((await run(rows, [gone], 'skip', 0)).errors[0]).toMatchObject({ code: 'organization-limit-reached' });
  });

  it('moves the link of a deleted organization to the one that replaces it', async () => {
    const { writes } = await run(
      [{ organization: 'Acme', externalId: '1', forceCreate: true }],
      [acme({ deleted: true, links: LINKED })],
    );
    expect(writes[0]?.links).toEqual([{ orgId: 'new-1', system: 'csv', externalId: '1', moved: true }]);
  });
});

describe('decideImport, update', () => {
  const linked = (sites: KnownSite[]) => [acme({ links: LINKED, sites })];

  it('patches only the given fields and creates the missing site', async () => {
    const address = { line1: 'Old 1', line2: null, city: 'Bern', region: null, postalCode: null, country: null };
    const { updated, writes } = await run(
      [
        { organization: 'Acme', externalId: '1', site: 'north', address: { line1: 'New 2', city: '' } },
        { organization: 'Acme', externalId: '1', site: 'South' },
      ],
      linked([site({ id: 's1', name: 'North', timezone: 'Europe/Zurich', address })]),
      'update',
    );
    expect(updated.map((item) => [item.siteName, item.createdSite])).toEqual([
      ['North', false],
      ['South', true],
    ]);
    expect(writes[0]?.sitePatches).toEqual([
      { id: 's1', orgId: 'acme-id', timezone: 'Europe/Zurich', address: { ...address, line1: 'New 2' }, contact: null },
    ]);
    expect(writes[0]?.newSites).toMatchObject([{ orgId: 'acme-id', name: 'South' }]);
  });

  it('writes nothing for the same file again', async () => {
    const { writes } = await run(
      [{ organization: 'Acme', externalId: '1', site: 'North', timezone: 'UTC' }],
      linked([site({ id: 's1', name: 'North' })]),
      'update',
    );
    expect(writes).toEqual([{ organizations: [], reactivated: [], links: [], newSites: [], sitePatches: [] }]);
  });

  it('adds no default site to an organization with other sites', async () => {
    const { updated, writes } = await run(
      [{ organization: 'Acme', externalId: '1' }],
      linked([site({ id: 's1', name: 'North' }), site({ id: 's2', name: 'South' })]),
      'update',
    );
    expect(updated).toMatchObject([{ siteId: null, createdSite: false }]);
    expect(writes[0]?.newSites).toEqual([]);
  });
});
