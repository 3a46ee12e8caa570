import type { UserCaller } from '@rmm/access';
import { NO_STORED_ORGANIZATIONS } from '../../test/no-stored-organizations.js';
import { linkKey } from '../import/import-plan.policy.js';
import { FileRowsService } from './file-rows.service.js';
import { FILE_LIMITS } from './files/file.limits.js';
import type { ImportRun } from './import-run.entity.js';
import type { RowOrganizationsRepository } from './row-organizations.repository.js';
import { RowPositions } from './row-positions.js';

const ORGANIZATIONS = {
  kind: 'organizations',
  columns: ['Company', 'Zone', 'Unused'],
  mapping: { organization: 'Company', timezone: 'Zone' },
} as unknown as ImportRun;
const CONTACTS = {
  kind: 'contacts',
  columns: ['Company', 'Mail', 'Kind'],
  mapping: { organization: 'Company', email: 'Mail', roles: 'Kind' },
} as unknown as ImportRun;

describe('FileRowsService', () => {
  const service = new FileRowsService(NO_STORED_ORGANIZATIONS);
  const numbered = (from: number, ...rows: string[][]) => rows.map((cells, at) => ({ index: from + at, cells }));
  const readStates = (run: ImportRun, rows: ReturnType<typeof numbered>, positions = new RowPositions()) =>
    service.readStates({} as UserCaller, run, rows, positions);

  it('reads organizations by the mapping, each with its index in the file, and leaves out invalid rows', async () => {
    const rows = numbered(40, ['Acme', 'Europe/Rome', 'x'], ['Beta', 'Mars', ''], ['Gamma', '', '']);
    const { rows: read } = await service.read(ORGANIZATIONS, rows);
    expect(read).toMatchObject([
      { index: 40, organization: 'Acme', timezone: 'Europe/Rome' },
      { index: 42, organization: 'Gamma', timezone: null },
    ]);
  });

  it('adds the pins of a commit to the cells of their row', async () => {
    const row = { index: 7, cells: ['Acme', '', ''] };
    const extra = { expectedAnnotation: 'name-match', reactivate: true };
    expect(await service.read(ORGANIZATIONS, [{ ...row, extra }])).toMatchObject({ rows: [{ index: 7, ...extra }] });
    const malformed = { ...row, extra: { expectedAnnotation: 'anything' } };
    expect(await service.read(ORGANIZATIONS, [malformed])).toEqual({ kind: 'organizations', rows: [] });
  });

  it('reads contacts, with each role of a cell', async () => {
    const rows = numbered(3, ['Acme', 'ann@acme.example', 'billing; technical'], ['Acme', 'no address', '']);
    const { rows: contacts } = await service.read(CONTACTS, rows);
    expect(contacts).toMatchObject([{ index: 3, email: 'ann@acme.example', roles: ['billing', 'technical'] }]);
  });

  it('gives rows of one organization the position of the first, also of an earlier chunk', async () => {
    const positions = new RowPositions();
    await readStates(ORGANIZATIONS, numbered(0, ['Acme'], ['Beta']), positions);
    const states = await readStates(ORGANIZATIONS, numbered(2, ['ACME '], ['Gamma']), positions);
    expect(states).toEqual([
      { index: 2, position: 0, annotation: null, reason: null },
      { index: 3, position: 3, annotation: null, reason: null },
    ]);
  });

  describe('gives rows that refer to a stored organization by an id', () => {
    const ID = '10000000-0000-4000-8000-00000000000a';
    const UNKNOWN_ID = '10000000-0000-4000-8000-00000000000b';
    const stored = {
      findNamesById: () => Promise.resolve(new Map([[ID, 'acme']])),
      findNamesByLink: () => Promise.resolve(new Map([[linkKey('crm', '1'), 'acme']])),
    } as unknown as RowOrganizationsRepository;
    const positionsOf = async (run: object, ...rows: string[][]) => {
      const known = new FileRowsService(stored);
      const states = await known.readStates(
        {} as UserCaller,
        run as ImportRun,
        numbered(0, ...rows),
        new RowPositions(),
      );
      return states.map(({ position }) => position);
    };

    it('the position of contacts that give its name', async () => {
      const columns = ['organizationId', 'organization', 'name'];
      const run = { kind: 'contacts', columns, mapping: Object.fromEntries(columns.map((name) => [name, name])) };
      const rows = [
        [ID, '', 'Ann'],
        ['', 'Other', 'Bob'],
        ['', ' ACME', 'Eve'],
        [ID.toUpperCase(), 'Other', 'Joe'],
        [UNKNOWN_ID, 'Acme', 'Sue'],
      ];
      expect(await positionsOf(run, ...rows)).toEqual([0, 1, 0, 0, 4]);
    });

    it('the position of organizations of its name and of that of their own name', async () => {
      const columns = ['organization', 'externalId', 'externalSystem'];
      const run = { kind: 'organizations', columns, mapping: Object.fromEntries(columns.map((name) => [name, name])) };
      const rows = [
        ['Acme', '', ''],
        ['Other', '', ''],
        ['Renamed', '1', 'crm'],
        ['Renamed', '', ''],
        ['Another', '1', 'csv'],
      ];
      expect(await positionsOf(run, ...rows)).toEqual([0, 1, 0, 0, 4]);
    });
  });

  it('says which fields of a row are invalid, and that it has more cells than the header', async () => {
    const rows = numbered(5, ['', 'Mars'], ['Acme', '', '', 'surplus'], ['Acme', '', '', ' ']);
    const [invalid, ragged, padded] = await readStates(ORGANIZATIONS, rows);
    expect(invalid).toMatchObject({ index: 5, position: null, annotation: 'invalid' });
    expect(invalid?.reason).toMatch(/^organization .*; timezone must be an IANA time zone$/);
    expect(ragged).toMatchObject({ annotation: 'invalid', reason: 'The row has 4 cells, the header has 3' });
    expect(padded).toMatchObject({ annotation: null, position: 7 });
  });

  it('leaves rows without a position while the mapping lacks a required field', async () => {
    const run = { ...ORGANIZATIONS, mapping: { timezone: 'Zone' } };
    expect(await readStates(run, numbered(0, ['Acme', 'Mars']))).toEqual([
      { index: 0, position: null, annotation: null, reason: null },
    ]);
  });

  it('refuses rows beyond the limit of one organization', async () => {
    const positions = new RowPositions();
    const rows = numbered(
      0,
      ...Array.from({ length: FILE_LIMITS.rowsPerOrganization + 1 }, () => ['Acme', 'a@b.example']),
    );
    const states = await readStates(CONTACTS, rows, positions);
    expect(states.filter(({ annotation }) => annotation === 'invalid')).toEqual([
      expect.objectContaining({ index: FILE_LIMITS.rowsPerOrganization, position: null }),
    ]);
  });
});
