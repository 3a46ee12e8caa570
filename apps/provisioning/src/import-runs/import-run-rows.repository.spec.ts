import { randomUUID } from 'node:crypto';
import { insertImportRun } from '../../test/import-run-records.js';
import { organizationCaller, partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import {
  ImportRunRowsRepository,
  type RowFilter,
  type RowOutcome,
  type StagedRow,
} from './import-run-rows.repository.js';
import type { JournalScope } from './journal/import-change.types.js';

type NewRow = Omit<StagedRow, 'matchId'>;

describe('ImportRunRowsRepository', () => {
  let database: ProvisioningTestDatabase;
  let rows: ImportRunRowsRepository;
  let partnerId: string;
  let scope: JournalScope;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    rows = new ImportRunRowsRepository(database.tenants);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    scope = await insertImportRun(database.admin, partnerId);
  });

  const inTransaction = <T>(
    work: Parameters<typeof database.tenants.transaction<T>>[1],
    as = partnerCaller(partnerId),
  ) => database.tenants.transaction(as, work);
  const buildRow = (index: number, values: Partial<NewRow> = {}): NewRow => ({
    index,
    line: index + 2,
    cells: [`cell ${index}`],
    position: index,
    annotation: null,
    reason: null,
    ...values,
  });
  const insert = (...staged: NewRow[]) => inTransaction((tx) => rows.insert(tx, scope, staged));
  const list = async (filter: RowFilter & { after?: number; limit?: number } = {}, as = partnerCaller(partnerId)) =>
    (await rows.listInOrder(as, scope, { after: -1, limit: 100, ...filter })).rows;
  const indexes = (found: { index: number }[]) => found.map(({ index }) => index);
  const settle = (outcome: Partial<RowOutcome> & { index: number }) =>
    inTransaction((tx) =>
      rows.settle(tx, scope, [{ result: 'imported', code: null, reason: null, orgId: null, ...outcome }]),
    );

  it('ends a page of long rows at about a megabyte, with at least one row', async () => {
    const cells = Array.from({ length: 60 }, () => 'x'.repeat(10_000));
    await insert(...[0, 1, 2, 3].map((index) => buildRow(index, { cells })));
    const request = { after: -1, limit: 100 };
    const page = await rows.listInOrder(partnerCaller(partnerId), scope, request);
    expect([indexes(page.rows), page.truncated]).toEqual([[0, 1], true]);
    const rest = await rows.listInOrder(partnerCaller(partnerId), scope, { ...request, after: 1 });
    expect([indexes(rest.rows), rest.truncated]).toEqual([[2, 3], false]);
    expect(rest.rows[0]).not.toHaveProperty('bytes_before');
  });

  it('stores rows, their preview and their result, and returns them in the order of the file', async () => {
    const orgId = await database.createOrganization(partnerId);
    await insert(
      buildRow(1, { cells: ['b', ''] }),
      buildRow(0, { position: null, annotation: 'invalid', reason: 'x' }),
    );
    const match = { matchId: orgId, matchName: 'Acme', orgId };
    await inTransaction((tx) =>
      rows.annotate(tx, scope, [{ index: 1, annotation: 'name-match', reason: null, ...match }]),
    );
    const invalid = {
      index: 0,
      line: 2,
      position: null,
      annotation: 'invalid',
      reason: 'x',
      matchId: null,
      orgId: null,
    };
    const matched = { index: 1, line: 3, cells: ['b', ''], annotation: 'name-match', ...match, result: null };
    expect(await list()).toMatchObject([invalid, matched]);
    await settle({ index: 1, result: 'skipped', code: 'unchanged', reason: 'same', orgId });
    expect((await list())[1]).toMatchObject({ result: 'skipped', code: 'unchanged', reason: 'same', orgId });
  });

  it('keeps the organization that a refused row matched, with which the row is erased', async () => {
    const orgId = await database.createOrganization(partnerId);
    await insert(buildRow(0), buildRow(5, { cells: ['far'] }));
    const match = { annotation: 'name-match', reason: null, matchId: orgId, matchName: 'Acme', orgId };
    await inTransaction((tx) =>
      rows.annotate(
        tx,
        scope,
        [5, 0].map((index) => ({ index, ...match })),
      ),
    );
    await settle({ index: 5, result: 'failed', code: 'annotation-changed', orgId: null });
    expect(await list()).toMatchObject([
      { result: null, orgId },
      { result: 'failed', orgId, cells: ['far'] },
    ]);
  });

  it('clears the preview of the former mapping when rows are read again', async () => {
    const orgId = await database.createOrganization(partnerId);
    await insert(buildRow(0));
    const found = { index: 0, annotation: 'link-match', orgId, matchId: orgId, matchName: 'Acme', reason: null };
    await inTransaction((tx) => rows.annotate(tx, scope, [found]));
    const read = { index: 0, position: 4, annotation: 'invalid', reason: 'no name' };
    await inTransaction((tx) => rows.reposition(tx, scope, [read]));
    expect(await list()).toMatchObject([{ ...read, orgId: null, matchId: null, matchName: null, cells: ['cell 0'] }]);
  });

  it('returns chunks by position that never divide the rows of one position', async () => {
    const positions = [2, 0, 1, 1, 1, null, 2, 3];
    await insert(...positions.map((position, index) => buildRow(index, { position })));
    const chunk = (after: number, limit: number) => inTransaction((tx) => rows.listChunk(tx, scope, after, limit));
    expect(indexes(await chunk(-1, 2))).toEqual([1, 2, 3, 4]);
    expect(indexes(await chunk(1, 2))).toEqual([0, 6]);
    expect(indexes(await chunk(1, 50))).toEqual([0, 6, 7]);
    expect(await chunk(3, 2)).toEqual([]);
  });

  it('reads the rows of a chunk only, of a run that the statistics of the database do not know', async () => {
    await insert(...Array.from({ length: 3_000 }, (_, index) => buildRow(index, { position: index })));
    const [read] = await inTransaction(async (tx) => {
      expect(await rows.listChunk(tx, scope, 500, 100)).toHaveLength(100);
      return tx.query(
        `SELECT idx_tup_fetch::int AS rows FROM pg_stat_xact_user_tables WHERE relname = 'import_run_row'`,
      );
    });
    expect(read.rows).toBeGreaterThanOrEqual(200); // to find the end, and to read what comes before it
    expect(read.rows).toBeLessThan(500);
  });

  it('lists pages of rows by annotation and result', async () => {
    await insert(...[0, 1, 2, 3].map((index) => buildRow(index, { annotation: index % 2 ? 'create' : 'link-match' })));
    await settle({ index: 1 });
    expect(indexes(await list({ limit: 2 }))).toEqual([0, 1]);
    expect(indexes(await list({ after: 1, limit: 2 }))).toEqual([2, 3]);
    expect(indexes(await list({ annotation: 'create' }))).toEqual([1, 3]);
    expect(indexes(await list({ annotation: 'create', result: 'imported' }))).toEqual([1]);
  });

  it('lists as refused what failed, and before the commit what would fail', async () => {
    const annotations = ['create', 'invalid', 'conflict', 'org-not-found', 'name-match', 'invalid'];
    await insert(...annotations.map((annotation, index) => buildRow(index, { annotation })));
    expect(indexes(await list({ isRefused: true }))).toEqual([1, 2, 3, 5]);
    await settle({ index: 0, result: 'failed', code: 'cap-reached' });
    await settle({ index: 2, result: 'imported' });
    expect(indexes(await list({ isRefused: true }))).toEqual([0, 1, 3, 5]);
  });

  it('refuses unreadable rows once and keeps their reason', async () => {
    await insert(buildRow(0), buildRow(1, { position: null, reason: 'no name' }), buildRow(2, { position: null }));
    const refuse = () => inTransaction((tx) => rows.refuseInvalid(tx, scope));
    expect([await refuse(), await refuse()]).toEqual([2, 0]);
    expect(await list()).toMatchObject([
      { result: null },
      { result: 'failed', code: 'invalid-row', reason: 'no name' },
      { result: 'failed', code: 'invalid-row' },
    ]);
  });

  describe('tenant isolation', () => {
    const read = { index: 0, position: 9, annotation: 'x', reason: 'x' };
    const outcome = { index: 0, result: 'failed', code: 'x', reason: 'x', orgId: null } as const;
    const found = { index: 0, annotation: 'x', orgId: null, matchId: null, matchName: null, reason: 'x' };
    const writes: [string, (scopeOfWrite: JournalScope) => Parameters<typeof inTransaction>[0]][] = [
      ['reposition', (of) => (tx) => rows.reposition(tx, of, [read])],
      ['annotate', (of) => (tx) => rows.annotate(tx, of, [found])],
      ['settle', (of) => (tx) => rows.settle(tx, of, [outcome])],
      ['refuseInvalid', (of) => (tx) => rows.refuseInvalid(tx, of)],
      ['deleteAll', (of) => (tx) => rows.deleteAll(tx, of)],
    ];
    it.each(writes)('%s changes no row of another caller, partner or run', async (_, write) => {
      await insert(buildRow(0, { position: null }));
      const before = await list();
      const orgId = await database.createOrganization(partnerId);
      const otherPartner = { ...scope, partnerId: randomUUID() };
      const otherRun = await insertImportRun(database.admin, partnerId);
      for (const stranger of [partnerCaller(otherPartner.partnerId), organizationCaller(partnerId, orgId)]) {
        await inTransaction(write(scope), stranger);
        await inTransaction(write(otherPartner), stranger);
      }
      await inTransaction(write(otherPartner));
      await inTransaction(write(otherRun));
      expect(await list()).toEqual(before);
    });

    it('shows rows to the partner alone and stores none for others', async () => {
      await insert(buildRow(0));
      const orgId = await database.createOrganization(partnerId);
      for (const stranger of [partnerCaller(randomUUID()), organizationCaller(partnerId, orgId)]) {
        expect(await list({}, stranger)).toEqual([]);
        expect(await inTransaction((tx) => rows.listChunk(tx, scope, -1, 10), stranger)).toEqual([]);
        const stored = inTransaction((tx) => rows.insert(tx, scope, [buildRow(1)]), stranger);
        await expect(stored).rejects.toThrow(/row-level security/);
      }
      const elsewhere = { ...scope, partnerId: randomUUID() };
      const page = { after: -1, limit: 9 };
      expect((await rows.listInOrder(partnerCaller(partnerId), elsewhere, page)).rows).toEqual([]);
      expect(await list()).toHaveLength(1);
    });

    it('deletes the rows of one run', async () => {
      await insert(buildRow(0), buildRow(1));
      const other = await insertImportRun(database.admin, partnerId);
      await inTransaction((tx) => rows.insert(tx, other, [buildRow(0)]));
      await inTransaction((tx) => rows.deleteAll(tx, scope));
      expect(await list()).toEqual([]);
      const left = await rows.listInOrder(partnerCaller(partnerId), other, { after: -1, limit: 9 });
      expect(left.rows).toHaveLength(1);
    });
  });
});
