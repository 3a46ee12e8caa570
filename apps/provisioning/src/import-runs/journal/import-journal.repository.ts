import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { ImportKind, ImportSource } from '../import-run.entity.js';
import type { JournalScope, NewImportChange } from './import-change.types.js';

/** A run that imports its rows in the transaction that records it. */
export interface NewRecordedRun {
  runId: string;
  partnerId: string;
  kind: ImportKind;
  source: ImportSource;
  connectionId: string | null;
  mode: 'skip' | 'update';
  total: number;
  createdBy: string | null;
}

export interface ImportCounts {
  imported: number;
  updated: number;
  skipped: number;
  failed: number;
}

const INSERT_RUN = `
  INSERT INTO import_run (id, partner_id, kind, source, connection_id, mode, total, created_by, state, committed_at)
  VALUES (:runId, :partnerId, :kind, :source, :connectionId, :mode, :total, :createdBy, 'completed', now())`;

const FINISH_RUN = `
  UPDATE import_run
     SET imported = :imported, updated = :updated, skipped = :skipped, failed = :failed, done = total,
         state = CASE WHEN :failed > 0 THEN 'completed_with_errors' ELSE 'completed' END,
         committed_at = now(), finished_at = now(), updated_at = now()
   WHERE id = :runId AND partner_id = :partnerId`;

/** Large sets: one statement for all changes. */
const INSERT_CHANGES = `
  INSERT INTO import_change
    (run_id, partner_id, org_id, resource, action, record_id, before, after, digest_before, digest_after)
  SELECT :runId, :partnerId, c."orgId", c.resource, c.action, c."recordId", c.before, c.after, c."digestBefore",
         c."digestAfter"
    FROM jsonb_to_recordset(:rows::jsonb) AS c("orgId" uuid, resource text, action text, "recordId" uuid, before jsonb,
         after jsonb, "digestBefore" uuid, "digestAfter" uuid)`;

/** Stores the journals of import runs. */
@Injectable()
export class ImportJournalRepository {
  async insertRun(tx: SqlExecutor, run: NewRecordedRun): Promise<void> {
    await tx.query(INSERT_RUN, run);
  }

  async finishRun(tx: SqlExecutor, { runId, partnerId }: JournalScope, counts: ImportCounts): Promise<void> {
    await tx.query(FINISH_RUN, { runId, partnerId, ...counts });
  }

  async insertChanges(
    tx: SqlExecutor,
    { runId, partnerId }: JournalScope,
    changes: readonly NewImportChange[],
  ): Promise<void> {
    if (changes.length === 0) return;
    await tx.query(INSERT_CHANGES, { runId, partnerId, rows: JSON.stringify(changes) });
  }
}
