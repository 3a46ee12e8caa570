import type { TenantTransaction } from '@rmm/persistence';
import { ImportJournalService } from './import-journal.service.js';

describe('ImportJournalService', () => {
  const tx = {} as TenantTransaction;
  let calls: unknown[][];
  let journal: ImportJournalService;

  beforeEach(() => {
    calls = [];
    const record =
      (name: string) =>
      (given: unknown, ...others: unknown[]) =>
        Promise.resolve(void calls.push([name, given === tx, ...others]));
    journal = new ImportJournalService({
      insertRun: record('insertRun'),
      insertChanges: record('insertChanges'),
      finishRun: record('finishRun'),
    });
  });

  it('creates a run of the caller in the transaction, with an id of its own each time', async () => {
    const run = {
      partnerId: 'p-1',
      kind: 'contacts',
      source: 'rows',
      connectionId: null,
      mode: 'skip',
      total: 2,
    } as const;
    const caller = { tenant: { userId: 'u-1' } } as never;
    const first = await journal.begin(tx, caller, run);
    const second = await journal.begin(tx, caller, run);
    expect(first.runId).not.toBe(second.runId);
    expect(first.partnerId).toBe('p-1');
    expect(calls[0]).toEqual(['insertRun', true, { ...run, runId: first.runId, createdBy: 'u-1' }]);
  });

  it('stores the lengths of the lists as the numbers of the run', async () => {
    const scope = { runId: 'r-1', partnerId: 'p-1' };
    await journal.finish(tx, scope, { imported: [1, 2, 3], updated: [1, 2], skipped: [1], errors: [] });
    expect(calls).toEqual([['finishRun', true, scope, { imported: 3, updated: 2, skipped: 1, failed: 0 }]]);
  });

  it('records changes with the executor that is given, so that a rolled back savepoint takes them along', async () => {
    const change = { orgId: 'o-1', resource: 'site', action: 'create', recordId: 's-1' } as const;
    const savepoint = {} as TenantTransaction;
    await journal.record(savepoint, { runId: 'r-1', partnerId: 'p-1' }, [change]);
    expect(calls).toEqual([['insertChanges', false, { runId: 'r-1', partnerId: 'p-1' }, [change]]]);
  });
});
