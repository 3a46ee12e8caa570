import type { UserCaller } from '@rmm/access';
import type { AuditTrail } from '@rmm/messaging';
import type { TenantDatabase } from '@rmm/persistence';
import { NO_STORED_ORGANIZATIONS } from '../../../test/no-stored-organizations.js';
import { contactsLock } from '../../contacts/contacts.service.js';
import type { ContactImportService } from '../../contacts/import/contact-import.service.js';
import type { RowsWithSlugs } from '../../import/import.repository.js';
import type { ImportService } from '../../import/import.service.js';
import { organizationsLock } from '../../partners/partners.repository.js';
import { FileRowsService } from '../file-rows.service.js';
import type { ImportRunRowsRepository, RowOutcome, StagedRow } from '../import-run-rows.repository.js';
import type { ImportRunsRepository, LeasedRun, RunAdvance } from '../import-runs.repository.js';
import { RunChunksService } from '../run-chunks.service.js';
import { CommitRowsService } from './commit-rows.service.js';

const PARTNER_ID = '10000000-0000-4000-8000-000000000001';
const ORG_ID = '10000000-0000-4000-8000-000000000002';
const CONTACT_ID = '10000000-0000-4000-8000-000000000003';

describe('CommitRowsService', () => {
  let chunk: StagedRow[];
  let locks: unknown[];
  let settled: RowOutcome[];
  let advances: RunAdvance[];
  let audited: unknown[];
  let written: { index: number }[];
  let lists: Record<'imported' | 'updated' | 'skipped' | 'errors', object[]>;
  let invalid: number;
  let service: CommitRowsService;

  beforeEach(() => {
    [locks, settled, advances, audited, written, invalid] = [[], [], [], [], [], 0];
    lists = { imported: [], updated: [], skipped: [], errors: [] };
    const tenants = {
      transaction: (_: unknown, work: (tx: object) => unknown) => work({}),
      lockedTransaction: (_: unknown, lock: unknown, work: (tx: object) => unknown) => (locks.push(lock), work({})),
    } as unknown as TenantDatabase;
    const runs = {
      advance: (_: unknown, __: unknown, advance: RunAdvance) => Promise.resolve(void advances.push(advance)),
    } as unknown as ImportRunsRepository;
    const rows = {
      listChunk: () => Promise.resolve(chunk),
      settle: (_: unknown, __: unknown, outcomes: RowOutcome[]) => Promise.resolve(void settled.push(...outcomes)),
      refuseInvalid: () => Promise.resolve(invalid),
    } as unknown as ImportRunRowsRepository;
    const writeRows = (_: unknown, __: unknown, ___: unknown, given: typeof written) => {
      written = given;
      return Promise.resolve(lists);
    };
    const organizations = {
      getPartner: () => Promise.resolve({ partnerId: PARTNER_ID }),
      writeRows: (tx: unknown, scope: unknown, given: RowsWithSlugs) => {
        expect([...given.slugs.keys()]).toEqual(given.rows.map((row) => row.organization));
        return writeRows(tx, scope, null, [...given.rows]);
      },
    } as unknown as ImportService;
    const audit = {
      record: (_: unknown, __: unknown, action: string, ___: unknown, details: object) =>
        Promise.resolve(void audited.push([action, details])),
    } as unknown as AuditTrail;
    const contacts = { writeRows } as unknown as ContactImportService;
    service = new CommitRowsService(
      tenants,
      runs,
      rows,
      new FileRowsService(NO_STORED_ORGANIZATIONS),
      new RunChunksService(tenants, rows),
      organizations,
      contacts,
      audit,
    );
  });

  const stage = (...rows: Partial<StagedRow>[]) => {
    chunk = rows.map((row, index) => ({
      ...{ index, line: index + 2, cells: [`Customer ${index}`], position: index, annotation: 'create' },
      ...{ matchId: null, reason: null, ...row },
    }));
  };
  const runChunk = (changes: Partial<LeasedRun> = {}) =>
    service.runChunk(
      {} as UserCaller,
      {
        ...{ id: 'r-1', partnerId: PARTNER_ID, kind: 'organizations', mode: 'update', options: {}, progress: {} },
        ...{ columns: ['Name'], mapping: { organization: 'Name', name: 'Name' }, fileName: 'a.csv' },
        ...{ imported: 3, updated: 2, skipped: 1, failed: 0, ...changes },
      } as LeasedRun,
    );

  it('settles each row by the list that it is in and counts the others as failed', async () => {
    stage({}, {}, {}, {}, {}, {});
    lists = {
      imported: [{ index: 0, organizationId: ORG_ID }],
      updated: [
        { index: 1, organizationId: ORG_ID },
        { index: 2, organizationId: ORG_ID },
      ],
      skipped: [{ index: 3, organizationId: ORG_ID, reason: 'unchanged' }],
      errors: [{ index: 4, error: 'Two links', code: 'conflict' }],
    };
    expect(await runChunk({ mapping: { organization: 'Name' } })).toBe(true);
    expect(settled).toEqual([
      { index: 0, result: 'imported', code: null, reason: null, orgId: ORG_ID },
      { index: 1, result: 'updated', code: null, reason: null, orgId: ORG_ID },
      { index: 2, result: 'updated', code: null, reason: null, orgId: ORG_ID },
      { index: 3, result: 'skipped', code: 'unchanged', reason: null, orgId: ORG_ID },
      { index: 4, result: 'failed', code: 'conflict', reason: 'Two links', orgId: null },
      { index: 5, result: 'failed', code: 'invalid-row', reason: expect.any(String), orgId: null },
    ]);
    const counts = { done: 6, imported: 1, updated: 2, skipped: 1, failed: 2 };
    expect(advances).toEqual([{ ...counts, progress: { position: 5 } }]);
  });

  it.each([
    ['organizations', organizationsLock(PARTNER_ID)],
    ['contacts', contactsLock(PARTNER_ID)],
  ] as const)('writes %s under their lock', async (kind, lock) => {
    stage({});
    await runChunk({ kind });
    expect(locks).toEqual([lock]);
  });

  const pinned = { expectedAnnotation: 'link-match', expectedOrganizationId: ORG_ID };
  const unconfirmed = { expectedAnnotation: null, expectedOrganizationId: ORG_ID, reactivate: false };
  const nameMatch = { annotation: 'name-match', matchId: ORG_ID };
  const deleted = { annotation: 'matched-soft-deleted', matchId: ORG_ID };
  it.each<[string, Partial<StagedRow>, LeasedRun['options'], object]>([
    ['pins a row to its preview', { annotation: 'link-match', matchId: ORG_ID }, {}, pinned],
    ['pins a match by name to the organization and does not confirm it', nameMatch, {}, unconfirmed],
    ['confirms matches by name for all rows', nameMatch, { confirmMatches: true }, { expectedOrganizationId: ORG_ID }],
    [
      'confirms a match by name of one row',
      nameMatch,
      { rows: [{ index: 0, expectedAnnotation: 'name-match' }] },
      { expectedAnnotation: 'name-match', expectedOrganizationId: null },
    ],
    ['does not reactivate unasked', deleted, {}, { expectedAnnotation: 'matched-soft-deleted', reactivate: false }],
    ['reactivates deleted matches', deleted, { reactivate: true }, { reactivate: true }],
    ['reactivates no other match', { annotation: 'create' }, { reactivate: true }, { reactivate: false }],
    [
      'prefers the choice for one row',
      deleted,
      { reactivate: true, rows: [{ index: 0, reactivate: false, forceCreate: true }] },
      { reactivate: false, forceCreate: true, expectedOrganizationId: ORG_ID },
    ],
    ['ignores choices for other rows', nameMatch, { rows: [{ index: 9, reactivate: true }] }, unconfirmed],
  ])('%s', async (_, row, options, expected) => {
    stage(row);
    await runChunk({ options, mapping: { organization: 'Name' } });
    expect(written).toMatchObject([expected]);
  });

  it('pins a contact to the contact of its preview and confirms e-mail addresses like names', async () => {
    stage({ annotation: 'link-match', matchId: CONTACT_ID }, { annotation: 'email-match', matchId: CONTACT_ID });
    await runChunk({ kind: 'contacts' });
    expect(written).toMatchObject([
      { expectedAnnotation: 'link-match', expectedContactId: CONTACT_ID },
      { expectedAnnotation: 'email-match', expectedContactId: null },
    ]);
    await runChunk({ kind: 'contacts', options: { rows: [{ index: 1, expectedContactId: CONTACT_ID }] } });
    expect(written[1]).toMatchObject({ expectedAnnotation: null, expectedContactId: CONTACT_ID });
    await runChunk({ kind: 'contacts', options: { confirmMatches: true } });
    expect(written[1]).toMatchObject({ expectedAnnotation: 'email-match', expectedContactId: CONTACT_ID });
  });

  it.each([
    [0, 0, 'completed'],
    [2, 0, 'completed_with_errors'],
    [0, 5, 'completed_with_errors'],
  ])('ends with %i invalid and %i refused rows', async (invalidRows, failed, state) => {
    stage();
    invalid = invalidRows;
    expect(await runChunk({ failed })).toBe(false);
    expect(advances).toEqual([{ state, failed: invalidRows, done: invalidRows }]);
    const counts = { imported: 3, updated: 2, skipped: 1, failed: invalidRows + failed };
    expect(audited).toEqual([['import.commit', { finished: true, kind: 'organizations', mode: 'update', ...counts }]]);
    expect(settled).toEqual([]);
  });
});
