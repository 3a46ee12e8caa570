import { randomUUID } from 'node:crypto';
import { countReads, explainStatements } from '@rmm/persistence/testing';
import { NotFoundError } from '@rmm/service-kit';
import { insertImportRun, memberCaller } from '../../test/import-run-records.js';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
  TEST_SECRETS,
} from '../../test/provisioning-test-database.js';
import { ImportLeaseLost } from './import-run.errors.js';
import { ImportRunsRepository, type LeasedRun, type RunAdvance } from './import-runs.repository.js';

describe('ImportRunsRepository', () => {
  let database: ProvisioningTestDatabase;
  let runs: ImportRunsRepository;
  let partnerId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    runs = new ImportRunsRepository(database.tenants, TEST_SECRETS, database.worker);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    await database.admin.query('DELETE FROM import_run');
    await database.admin.query('DELETE FROM import_file_chunk');
    partnerId = randomUUID();
  });

  const insert = async (values: Record<string, unknown> = {}, owner = partnerId) =>
    (await insertImportRun(database.admin, owner, values)).runId;
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
  const inTransaction = <T>(
    work: Parameters<typeof database.tenants.transaction<T>>[1],
    as = partnerCaller(partnerId),
  ) => database.tenants.transaction(as, work);
  const get = (id: string) => runs.get(partnerCaller(partnerId), id);
  const lease = async () => (await runs.lease()) as LeasedRun;
  const advance = (run: LeasedRun, progress: RunAdvance) => inTransaction((tx) => runs.advance(tx, run, progress));
  const endLease = (id: string) =>
    database.admin.query(`UPDATE import_run SET leased_until = now() - interval '1 minute' WHERE id = $1`, [id]);
  const databaseTime = async () => (await database.admin.query('SELECT clock_timestamp() AS now')).rows[0].now as Date;

  describe('visibility', () => {
    it('lists the runs of a partner, newest first, with their filters', async () => {
      const old = await insert({ created_at: daysAgo(3) });
      const contacts = await insert({ created_at: daysAgo(2), kind: 'contacts' });
      const latest = await insert({ created_at: daysAgo(1), state: 'undone' });
      await insert({}, randomUUID());
      const list = async (filter: object) => {
        const { rows } = await runs.list(partnerCaller(partnerId), filter, { page: 1, limit: 10 });
        return rows.map(({ id }) => id);
      };
      expect(await list({})).toEqual([latest, contacts, old]);
      expect(await list({ kind: 'contacts' })).toEqual([contacts]);
      expect(await list({ state: 'undone' })).toEqual([latest]);
    });

    it('shows a member with selected organizations only the runs that it created', async () => {
      const member = memberCaller(partnerId);
      const own = await insert({ created_by: member.tenant.userId });
      const other = await insert({ created_by: randomUUID() });
      expect((await runs.list(member, {}, { page: 1, limit: 10 })).rows.map(({ id }) => id)).toEqual([own]);
      await expect(runs.get(member, other)).rejects.toBeInstanceOf(NotFoundError);
      await expect(inTransaction((tx) => runs.lock(tx, other), member)).rejects.toBeInstanceOf(NotFoundError);
    });

    it('neither shows nor changes a run for another partner or an organization', async () => {
      const id = await insert();
      const orgId = await database.createOrganization(partnerId);
      for (const stranger of [partnerCaller(randomUUID()), organizationCaller(partnerId, orgId)]) {
        await expect(runs.get(stranger, id)).rejects.toBeInstanceOf(NotFoundError);
        await expect(inTransaction((tx) => runs.lock(tx, id), stranger)).rejects.toBeInstanceOf(NotFoundError);
        const change = inTransaction((tx) => runs.change(tx, id, { state: 'cancelled' }), stranger);
        await expect(change).rejects.toBeInstanceOf(NotFoundError);
      }
      expect((await get(id)).state).toBe('ready');
    });
  });

  describe('leases', () => {
    it('leases active runs in the order of their waiting, new ones first, and no others', async () => {
      const released = await insert({ state: 'committing', leased_until: daysAgo(1), created_at: daysAgo(9) });
      const expired = await insert({ state: 'undoing', leased_until: daysAgo(2), lease_id: randomUUID() });
      const second = await insert({ state: 'annotating', created_at: daysAgo(1) }, randomUUID());
      const first = await insert({ state: 'parsing', created_at: daysAgo(2) });
      await insert({ state: 'parsing', leased_until: daysAgo(-1), lease_id: randomUUID() });
      for (const state of ['ready', 'completed', 'failed', 'cancelled', 'undone']) await insert({ state });
      const leased = [await lease(), await lease(), await lease()].map(({ id }) => id);
      expect(await runs.isAnyWaiting()).toBe(true);
      expect([...leased, (await lease()).id]).toEqual([first, second, expired, released]);
      expect(await runs.isAnyWaiting()).toBe(false);
      expect(await runs.lease()).toBeNull();
    });

    it('gives concurrent replicas different runs', async () => {
      const ids = await Promise.all(Array.from({ length: 4 }, () => insert({ state: 'parsing' }, randomUUID())));
      const leases = await Promise.all(Array.from({ length: 8 }, () => runs.lease()));
      const found = leases.filter((run) => run !== null).map(({ id }) => id);
      for (let run = await runs.lease(); run !== null; run = await runs.lease()) found.push(run.id);
      expect(found.sort()).toEqual(ids.sort());
    });

    it('ends a lease at once, or after some seconds when the run has to wait, for its holder alone', async () => {
      const id = await insert({ state: 'parsing' });
      const before = await databaseTime();
      const run = await lease();
      expect(Number((await get(id)).leasedUntil) - Number(before)).toBeGreaterThanOrEqual(29_990);
      await runs.release({ ...run, leaseId: randomUUID() });
      expect((await get(id)).leaseId).toBe(run.leaseId);
      await runs.release(run);
      const after = await databaseTime();
      const released = await get(id);
      expect(released.leaseId).toBeNull();
      expect(Number(released.leasedUntil)).toBeLessThanOrEqual(Number(after) + 10);
      await endLease(id);
      const again = await lease();
      expect(again.leaseId).not.toBe(run.leaseId);
      const beforeWait = await databaseTime();
      await runs.release(again, true);
      expect(Number((await get(id)).leasedUntil) - Number(beforeWait)).toBeGreaterThanOrEqual(2_990);
    });

    it('takes the lease from the replica when a request changes the run', async () => {
      const id = await insert({ state: 'committing' });
      const run = await lease();
      await inTransaction((tx) => runs.change(tx, id, { state: 'cancelled' }));
      await expect(advance(run, { imported: 1 })).rejects.toBeInstanceOf(ImportLeaseLost);
      await runs.fail(run, { code: 'import_failed', error: 'x', step: 'committing' });
      await runs.release(run);
      expect(await get(id)).toMatchObject({ state: 'cancelled', imported: 0, failure: null, leasedUntil: null });
    });
  });

  describe('advance', () => {
    it('adds counters, keeps what is absent and updates the given run', async () => {
      const id = await insert({ state: 'committing', total: 9, columns: '["a"]', mapping: '{"organization":"a"}' });
      const run = await lease();
      await advance(run, { done: 3, imported: 1, updated: 1, failed: 1, progress: { position: 2 } });
      await advance(run, { done: 2, skipped: 2, annotations: { create: 4 } });
      const stored = { done: 5, imported: 1, updated: 1, skipped: 2, failed: 1, total: 9, progress: { position: 2 } };
      const kept = { columns: ['a'], mapping: { organization: 'a' }, annotations: { create: 4 }, state: 'committing' };
      expect(run).toMatchObject({ ...stored, ...kept });
      expect(await get(id)).toMatchObject({ ...stored, ...kept, finishedAt: null, committedAt: null });
    });

    it('counts a new step from zero and records the ends of commits and undos', async () => {
      await insert({ state: 'parsing', done: 7 });
      const run = await lease();
      await advance(run, { state: 'annotating', done: 4, total: 4 });
      expect(run).toMatchObject({ state: 'annotating', done: 0, total: 4 });
      await advance(run, { state: 'ready', done: 4 });
      expect(run).toMatchObject({ state: 'ready', done: 4, finishedAt: null, committedAt: null });
      await advance(run, { state: 'completed' });
      expect([run.finishedAt, run.committedAt]).toEqual([expect.any(Date), expect.any(Date)]);
      await database.admin.query('UPDATE import_run SET committed_at = $1', [daysAgo(1)]);
      await advance(run, { state: 'undone', undoRestored: 2, undoKept: 1 });
      expect(run).toMatchObject({ undoRestored: 2, undoKept: 1, finishedAt: expect.any(Date) });
      expect(Number(run.committedAt)).toBeLessThan(Number(daysAgo(0.5)));
    });

    it('refuses a chunk after the lease went to another replica, in another state and of another tenant', async () => {
      const id = await insert({ state: 'committing' });
      const run = await lease();
      const stranger = partnerCaller(randomUUID());
      const foreign = inTransaction((tx) => runs.advance(tx, { ...run }, { done: 1 }), stranger);
      await expect(foreign).rejects.toBeInstanceOf(ImportLeaseLost);
      await expect(advance({ ...run, state: 'annotating' }, { done: 1 })).rejects.toBeInstanceOf(ImportLeaseLost);
      await expect(advance({ ...run, partnerId: randomUUID() }, { done: 1 })).rejects.toBeInstanceOf(ImportLeaseLost);
      await endLease(id);
      await lease();
      await expect(advance(run, { done: 1 })).rejects.toBeInstanceOf(ImportLeaseLost);
      expect((await get(id)).done).toBe(0);
    });
  });

  it.each([
    ['nothing was imported', { imported: 0 }, null],
    ['some rows were imported', { imported: 1 }, expect.any(Date)],
    ['some records were updated', { updated: 1 }, expect.any(Date)],
  ])('fails a commit; its undo period starts only with a change: %s', async (_, counts, committedAt) => {
    const id = await insert({ state: 'committing', ...counts });
    const run = await lease();
    const failure = { code: 'import_failed', error: 'The import failed', step: 'committing' };
    await runs.fail({ ...run, leaseId: randomUUID() }, failure);
    expect((await get(id)).state).toBe('committing');
    await runs.fail(run, failure);
    const failed = { state: 'failed', failure, leaseId: null, finishedAt: expect.any(Date), committedAt };
    expect(await get(id)).toMatchObject(failed);
    expect(await runs.lease()).toBeNull();
  });

  describe('kept data', () => {
    const KEPT = { rows: 7, runs: 90, undoHours: 72 };
    const addRow = (id: string) =>
      database.admin.query(
        `INSERT INTO import_run_row (run_id, partner_id, index, line, cells) VALUES ($1, $2, 0, 2, '[]')`,
        [id, partnerId],
      );
    const addChange = async (id: string, outcome: string | null = null) =>
      database.admin.query(
        `INSERT INTO import_change (run_id, partner_id, org_id, resource, action, record_id, outcome)
         VALUES ($1, $2, $3, 'organization', 'create', $3, $4)`,
        [id, partnerId, await database.createOrganization(partnerId), outcome],
      );
    const addPart = (id: string, createdAt: Date) =>
      database.admin.query(
        `INSERT INTO import_file_chunk (run_id, partner_id, part, bytes, created_at) VALUES ($1, $2, 0, 'x', $3)`,
        [id, partnerId, createdAt],
      );
    const runsIn = async (table: string) =>
      (await database.admin.query(`SELECT run_id FROM ${table} ORDER BY run_id`)).rows.map(({ run_id: id }) => id);
    const purgeAll = async () => {
      for (let batch = 0; batch < 20 && (await runs.purge(KEPT)) > 0; batch += 1);
    };

    it('deletes rows, journals and runs once their time is over', async () => {
      const recent = await insert({ updated_at: daysAgo(6), committed_at: daysAgo(2) });
      const rowsOver = await insert({ updated_at: daysAgo(8), committed_at: daysAgo(2) });
      const undoOver = await insert({ updated_at: daysAgo(4), committed_at: daysAgo(4) });
      const expired = await insert({ updated_at: daysAgo(91), state: 'completed', committed_at: daysAgo(91) });
      for (const id of [recent, rowsOver, undoOver, expired]) {
        await addRow(id);
        await addChange(id);
      }
      await purgeAll();
      expect(await runsIn('import_run_row')).toEqual([recent, undoOver].sort());
      expect(await runsIn('import_change')).toEqual([recent, rowsOver].sort());
      await expect(get(expired)).rejects.toBeInstanceOf(NotFoundError);
      expect((await get(undoOver)).id).toBe(undoOver);
      expect(await runs.purge(KEPT)).toBe(0);
    });

    it('keeps the data of a run on which a step works, however old it is', async () => {
      const active = await insert({ state: 'undoing', updated_at: daysAgo(100), committed_at: daysAgo(100) });
      await addRow(active);
      await addChange(active);
      expect(await runs.purge(KEPT)).toBe(0);
      expect([await runsIn('import_run_row'), await runsIn('import_change')]).toEqual([[active], [active]]);
    });

    it('deletes a large run in several batches', async () => {
      const runId = await insert({ updated_at: daysAgo(8), committed_at: null });
      await database.admin.query(
        `INSERT INTO import_run_row (run_id, partner_id, index, line, cells)
         SELECT $1, $2, n, n + 2, '[]' FROM generate_series(1, 10001) n`,
        [runId, partnerId],
      );
      expect([await runs.purge(KEPT), await runs.purge(KEPT), await runs.purge(KEPT)]).toEqual([10_000, 1, 0]);
      expect(await runsIn('import_run_row')).toEqual([]);
    });

    it('reads the runs that have data, not all that are older', async () => {
      const OLDER = 20_000;
      await database.admin.query(
        `INSERT INTO import_run (partner_id, kind, source, state, updated_at, committed_at)
         SELECT $1, 'organizations', 'file', 'completed', t, t
           FROM generate_series(1, $2::int) n, LATERAL (SELECT now() - interval '30 days' - n * interval '1 minute' AS t) times`,
        [partnerId, OLDER],
      );
      await database.admin.query('ANALYZE import_run');
      const expired = await insert({ updated_at: daysAgo(8), committed_at: daysAgo(8) });
      await addRow(expired);
      await addChange(expired);
      const { explaining, plans } = explainStatements(database.worker);
      expect(await new ImportRunsRepository(database.tenants, TEST_SECRETS, explaining).purge(KEPT)).toBe(0);
      expect(await runsIn('import_run_row')).toEqual([]);
      expect(await runsIn('import_change')).toEqual([]);
      expect(Math.max(...plans.map(countReads))).toBeLessThan(OLDER / 10);
    });

    it('deletes old parts of files, except of a file that is still to be read', async () => {
      const [parsing, ready] = [await insert({ state: 'parsing' }), await insert()];
      const abandoned = randomUUID();
      const uploading = randomUUID();
      for (const id of [parsing, ready, abandoned]) await addPart(id, daysAgo(2));
      await addPart(uploading, daysAgo(0.5));
      expect(await runs.purge(KEPT)).toBe(2);
      expect(await runsIn('import_file_chunk')).toEqual([parsing, uploading].sort());
    });

    it('reports the changes that are left of an undo as kept, of its run alone', async () => {
      const [id, other] = [await insert({ state: 'undoing' }), await insert()];
      for (const run of [id, id, other]) await addChange(run);
      await addChange(id, 'removed');
      const leased = await lease();
      expect(await database.worker.transaction((tx) => runs.keepUnseen(tx, leased))).toBe(2);
      const { rows } = await database.admin.query(
        `SELECT run_id = $1 AS ours, outcome, reason, count(*)::int AS n FROM import_change
          GROUP BY 1, 2, 3 ORDER BY 1, 2`,
        [id],
      );
      expect(rows).toEqual([
        { ours: false, outcome: null, reason: null, n: 1 },
        { ours: true, outcome: 'kept', reason: 'no_access', n: 2 },
        { ours: true, outcome: 'removed', reason: null, n: 1 },
      ]);
    });
  });
});
