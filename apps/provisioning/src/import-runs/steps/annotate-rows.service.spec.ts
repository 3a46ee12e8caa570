import type { UserCaller } from '@rmm/access';
import type { TenantDatabase } from '@rmm/persistence';
import { NO_STORED_ORGANIZATIONS } from '../../../test/no-stored-organizations.js';
import type { ContactImportService } from '../../contacts/import/contact-import.service.js';
import { ALREADY_LINKED } from '../../import/import-decision.policy.js';
import type { PlannedGroup } from '../../import/import-plan.policy.js';
import type { ImportService } from '../../import/import.service.js';
import { FileRowsService } from '../file-rows.service.js';
import type { AnnotatedRow, ImportRunRowsRepository, StagedRow } from '../import-run-rows.repository.js';
import { ImportLeaseLost } from '../import-run.errors.js';
import type { ImportRunsRepository, LeasedRun, RunAdvance } from '../import-runs.repository.js';
import { RunChunksService } from '../run-chunks.service.js';
import { AnnotateRowsService } from './annotate-rows.service.js';

describe('AnnotateRowsService', () => {
  let stored: StagedRow[];
  let annotated: AnnotatedRow[];
  let repositioned: Pick<StagedRow, 'index' | 'position' | 'annotation'>[];
  let advances: RunAdvance[];
  let groups: object[];
  let contacts: object[];
  let planned: { index: number }[];
  let isLeaseLost: boolean;
  let service: AnnotateRowsService;

  beforeEach(() => {
    [annotated, repositioned, advances, groups, contacts, planned, isLeaseLost] = [[], [], [], [], [], [], false];
    const tenants = {
      transaction: (_: unknown, work: (tx: object) => unknown) => work({}),
    } as unknown as TenantDatabase;
    const runs = {
      advance: (_: unknown, run: LeasedRun, advance: RunAdvance) => {
        if (isLeaseLost) return Promise.reject(new ImportLeaseLost());
        advances.push(advance);
        Object.assign(run, advance);
        return Promise.resolve();
      },
    } as unknown as ImportRunsRepository;
    const rows = {
      listChunk: (_: unknown, __: unknown, after: number) =>
        Promise.resolve(stored.filter(({ position }) => position !== null && position > after)),
      listInOrder: (_: unknown, __: unknown, { after }: { after: number }) =>
        Promise.resolve({ rows: stored.filter(({ index }) => index > after).slice(0, 2), truncated: true }),
      reposition: (_: unknown, __: unknown, batch: typeof repositioned) =>
        Promise.resolve(void repositioned.push(...batch)),
      annotate: (_: unknown, __: unknown, batch: AnnotatedRow[]) => Promise.resolve(void annotated.push(...batch)),
    } as unknown as ImportRunRowsRepository;
    const plan = (result: () => object[]) => (_: unknown, __: unknown, given: { index: number }[]) => {
      planned = given;
      return Promise.resolve(result());
    };
    const fileRows = new FileRowsService(NO_STORED_ORGANIZATIONS);
    service = new AnnotateRowsService(
      tenants,
      runs,
      rows,
      fileRows,
      new RunChunksService(tenants, rows),
      { planRows: plan(() => groups) } as unknown as ImportService,
      { planRows: plan(() => contacts) } as unknown as ContactImportService,
    );
  });

  const stage = (...names: string[]) => {
    stored = names.map((name, index) => {
      return { index, line: index + 2, cells: [name], position: index, annotation: null, matchId: null, reason: null };
    });
  };
  const runOf = (changes: Partial<LeasedRun>): LeasedRun =>
    ({
      ...{ id: 'r-1', partnerId: 'p-1', kind: 'organizations', state: 'annotating', connectionId: null },
      ...{ columns: ['Name'], mapping: { organization: 'Name' }, annotations: {}, progress: {} },
      ...changes,
    }) as LeasedRun;
  const runChunk = (run: LeasedRun) => service.runChunk({} as UserCaller, run);

  it('assigns positions to all rows by the new mapping first, and counts the invalid ones', async () => {
    stage('Acme', 'Beta', 'acme', '', 'Beta');
    const run = runOf({});
    expect(await runChunk(run)).toBe(true);
    expect(repositioned.map(({ position }) => position)).toEqual([0, 1, 0, null, 1]);
    expect(run).toMatchObject({ annotations: { invalid: 1 }, progress: { position: -1 } });
    expect(annotated).toEqual([]);
  });

  it('stops to assign positions when the lease is lost', async () => {
    stage('Acme', 'Beta', 'Gamma');
    isLeaseLost = true;
    await expect(runChunk(runOf({}))).rejects.toBeInstanceOf(ImportLeaseLost);
    expect(repositioned.length).toBe(2);
  });

  it('annotates each row of a group with the match and adds to the counts', async () => {
    stage('Acme', 'acme', 'Beta');
    const match = { id: 'o-1', name: 'Acme Inc' };
    groups = [
      { rows: [{ index: 0 }, { index: 1 }], annotation: 'name-match', match, conflictReason: null },
      { rows: [{ index: 2 }], annotation: 'conflict', match: null, conflictReason: 'Two links' },
    ] as PlannedGroup[];
    const run = runOf({ progress: { position: -1 }, annotations: { invalid: 4, 'name-match': 1 } });
    expect(await runChunk(run)).toBe(true);
    expect(planned.map(({ index }) => index)).toEqual([0, 1, 2]);
    const matched = { annotation: 'name-match', orgId: 'o-1', matchId: 'o-1', matchName: 'Acme Inc', reason: null };
    expect(annotated).toEqual([
      { index: 0, ...matched },
      { index: 1, ...matched },
      { index: 2, annotation: 'conflict', orgId: null, matchId: null, matchName: null, reason: 'Two links' },
    ]);
    expect(advances).toEqual([
      { done: 3, annotations: { invalid: 4, 'name-match': 3, conflict: 1 }, progress: { position: 2 } },
    ]);
  });

  it('says that a match by name would get a second link of one system', async () => {
    stage('Acme');
    const match = { id: 'o-1', name: 'Acme Inc' };
    const group = { annotation: 'name-match', match, matchLinkedToSystem: true, conflictReason: null };
    groups = [{ rows: [{ index: 0 }], ...group }];
    await runChunk(runOf({ progress: { position: -1 } }));
    expect(annotated).toMatchObject([{ annotation: 'name-match', matchId: 'o-1', reason: ALREADY_LINKED }]);
  });

  it('does not store the id of a contact that an earlier row would create', async () => {
    stage('Acme', 'Acme', 'Acme');
    const planOf = (index: number, changes: object) => {
      const organization = { id: 'o-1', name: 'Acme' };
      return { row: { index }, annotation: 'email-match', organization, refusal: null, warning: null, ...changes };
    };
    const match = { id: 'c-1', name: 'Ann' };
    contacts = [
      planOf(0, { match, isMatchNew: false, warning: 'No such site' }),
      planOf(1, { match, isMatchNew: true }),
      planOf(2, { match: null, isMatchNew: false, organization: null, refusal: { code: 'x', text: 'Unknown' } }),
    ];
    await runChunk(runOf({ kind: 'contacts', mapping: { organization: 'Name' }, progress: { position: -1 } }));
    expect(annotated.map(({ orgId, matchId, matchName, reason }) => [orgId, matchId, matchName, reason])).toEqual([
      ['o-1', 'c-1', 'Ann', 'No such site'],
      ['o-1', null, 'Ann', null],
      [null, null, null, 'Unknown'],
    ]);
  });

  it('is ready when no row is left, invalid ones included', async () => {
    stage('Acme');
    const run = runOf({ progress: { position: 0 }, annotations: { create: 1, invalid: 4 } });
    expect(await runChunk(run)).toBe(false);
    expect(advances).toEqual([{ state: 'ready', progress: {}, done: 4 }]);
  });
});
