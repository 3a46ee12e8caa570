import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Caller } from '@rmm/access';
import type { SqlExecutor, TenantTransaction } from '@rmm/persistence';
import type { JournalScope, NewImportChange } from './import-change.types.js';
import { ImportJournalRepository, type NewRecordedRun } from './import-journal.repository.js';

/** The lists of an import response, of which the journal keeps the numbers. */
interface ImportLists {
  imported: readonly unknown[];
  updated: readonly unknown[];
  skipped: readonly unknown[];
  errors: readonly unknown[];
}

/**
 * Records what each import changed, in the transaction of the change: an import that leaves no record cannot be undone.
 * @see docs/reference/provisioning.md#import-runs
 */
@Injectable()
export class ImportJournalService {
  constructor(private readonly repository: ImportJournalRepository) {}

  /** Creates the run of an import whose rows are all written in this transaction. */
  async begin(
    tx: TenantTransaction,
    { tenant }: Pick<Caller, 'tenant'>,
    run: Omit<NewRecordedRun, 'runId' | 'createdBy'>,
  ): Promise<JournalScope> {
    const runId = randomUUID();
    await this.repository.insertRun(tx, { ...run, runId, createdBy: tenant.userId });
    return { runId, partnerId: run.partnerId };
  }

  /** Adds changes; call it in the savepoint of the write, so that what is rolled back is not recorded. */
  record(tx: SqlExecutor, scope: JournalScope, changes: readonly NewImportChange[]): Promise<void> {
    return this.repository.insertChanges(tx, scope, changes);
  }

  /** Stores the numbers of the result. */
  finish(tx: SqlExecutor, scope: JournalScope, { imported, updated, skipped, errors }: ImportLists): Promise<void> {
    return this.repository.finishRun(tx, scope, {
      imported: imported.length,
      updated: updated.length,
      skipped: skipped.length,
      failed: errors.length,
    });
  }
}
