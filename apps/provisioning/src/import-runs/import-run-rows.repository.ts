import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { limitBytes, takeBudgetColumns, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import type { ImportRunRow, RowResult } from './import-run-row.entity.js';
import type { JournalScope } from './journal/import-change.types.js';

export type StagedRow = Pick<
  ImportRunRow,
  'index' | 'line' | 'cells' | 'position' | 'annotation' | 'matchId' | 'reason'
>;

/** A row that has no match yet. */
export type NewRow = Omit<StagedRow, 'matchId'>;

export type StoredRow = StagedRow & Pick<ImportRunRow, 'orgId' | 'matchName' | 'result' | 'code'>;

export type AnnotatedRow = Pick<ImportRunRow, 'index' | 'orgId' | 'matchId' | 'matchName' | 'reason'> & {
  annotation: string;
};

export type RowOutcome = Pick<ImportRunRow, 'index' | 'code' | 'reason' | 'orgId'> & { result: RowResult };

export interface RowFilter {
  annotation?: string;
  result?: RowResult;
  /** Rows that a commit refused or, before it, would refuse. */
  isRefused?: boolean;
}

const MAX_POSITION = 2 ** 31 - 1;

const ROW = `r.index, r.line, r.cells, r.position, r.annotation, r.match_id AS "matchId", r.reason`;
const OF_RUN = 'r.run_id = :runId AND r.partner_id = :partnerId';

/** With its bounds a chunk is found by the primary key, whatever else the planner expects of a run. */
const OF_CHUNK = `${OF_RUN} AND r.index BETWEEN :first AND :last AND r.index = n.index`;

const INSERT = `
  INSERT INTO import_run_row (run_id, partner_id, index, line, cells, position, annotation, reason)
  SELECT :runId, :partnerId, n.index, n.line, n.cells, n.position, n.annotation, n.reason
    FROM jsonb_to_recordset(:rows::jsonb)
      AS n(index int, line int, cells jsonb, position int, annotation text, reason text)`;

const REPOSITION = `
  UPDATE import_run_row r
     SET position = n.position, annotation = n.annotation, reason = n.reason, org_id = NULL, match_id = NULL,
         match_name = NULL
    FROM jsonb_to_recordset(:rows::jsonb) AS n(index int, position int, annotation text, reason text)
   WHERE ${OF_CHUNK}`;

const ANNOTATE = `
  UPDATE import_run_row r
     SET annotation = n.annotation, org_id = n."orgId", match_id = n."matchId", match_name = n."matchName",
         reason = n.reason
    FROM jsonb_to_recordset(:rows::jsonb)
      AS n(index int, annotation text, "orgId" uuid, "matchId" uuid, "matchName" text, reason text)
   WHERE ${OF_CHUNK}`;

/** A refused row keeps the organization that it matched, with which it is erased. */
const SETTLE = `
  UPDATE import_run_row r
     SET result = n.result, code = n.code, reason = n.reason, org_id = coalesce(n."orgId", r.org_id)
    FROM jsonb_to_recordset(:rows::jsonb) AS n(index int, result text, code text, reason text, "orgId" uuid)
   WHERE ${OF_CHUNK}`;

const LIST_IN_ORDER = limitBytes(
  `SELECT ${ROW}, r.org_id AS "orgId", r.match_name AS "matchName", r.result, r.code FROM import_run_row r
    WHERE ${OF_RUN} AND r.index > :after AND (:annotation::text IS NULL OR r.annotation = :annotation)
      AND (:result::text IS NULL OR r.result = :result)
      AND (NOT :isRefused::boolean OR r.result = 'failed'
           OR (r.result IS NULL AND r.annotation IN ('invalid', 'conflict', 'org-not-found')))
    ORDER BY r.index LIMIT :limit`,
  { columns: ['cells'] },
);

const REFUSE_INVALID = `
  UPDATE import_run_row r SET result = 'failed', code = 'invalid-row'
   WHERE ${OF_RUN} AND r.position IS NULL AND r.result IS NULL RETURNING 1 AS one`;

/** The last position of which a row is among the next `limit`: the rows of a position are read together. */
const CHUNK_END = `
  SELECT r.position FROM import_run_row r
   WHERE ${OF_RUN} AND r.position > :after ORDER BY r.position, r.index OFFSET :limit - 1 LIMIT 1`;

const LIST_CHUNK = `
  SELECT ${ROW} FROM import_run_row r
   WHERE ${OF_RUN} AND r.position > :after AND r.position <= :end ORDER BY r.position, r.index`;

/**
 * The planner knows nothing of a run that has just begun: it would expect few rows, and read and sort all that remain for
 * each chunk. In the order of the index, it reads those of the chunk.
 */
const READ_IN_INDEX_ORDER = 'SET LOCAL enable_bitmapscan = off';

/** Stores the rows of files while they are imported. */
@Injectable()
export class ImportRunRowsRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  async deleteAll(tx: TenantTransaction, { runId, partnerId }: JournalScope): Promise<void> {
    await tx.query(`DELETE FROM import_run_row r WHERE ${OF_RUN}`, { runId, partnerId });
  }

  async insert(tx: TenantTransaction, { runId, partnerId }: JournalScope, rows: readonly NewRow[]): Promise<void> {
    if (rows.length > 0) await tx.query(INSERT, { runId, partnerId, rows: JSON.stringify(rows) });
  }

  reposition(
    tx: TenantTransaction,
    scope: JournalScope,
    rows: readonly Pick<StagedRow, 'index' | 'position' | 'annotation' | 'reason'>[],
  ): Promise<void> {
    return change(tx, REPOSITION, scope, rows);
  }

  annotate(tx: TenantTransaction, scope: JournalScope, rows: readonly AnnotatedRow[]): Promise<void> {
    return change(tx, ANNOTATE, scope, rows);
  }

  settle(tx: TenantTransaction, scope: JournalScope, rows: readonly RowOutcome[]): Promise<void> {
    return change(tx, SETTLE, scope, rows);
  }

  /** Refuses the rows that cannot be read. @returns their number */
  async refuseInvalid(tx: TenantTransaction, { runId, partnerId }: JournalScope): Promise<number> {
    return (await tx.query(REFUSE_INVALID, { runId, partnerId })).length;
  }

  /** Returns the next rows by position; about `limit`, with all rows of the last position. */
  async listChunk(
    tx: TenantTransaction,
    { runId, partnerId }: JournalScope,
    after: number,
    limit: number,
  ): Promise<StagedRow[]> {
    await tx.query(READ_IN_INDEX_ORDER);
    const [last] = await tx.query<{ position: number }>(CHUNK_END, { runId, partnerId, after, limit });
    return tx.query<StagedRow>(LIST_CHUNK, { runId, partnerId, after, end: last?.position ?? MAX_POSITION });
  }

  /** Returns the next rows in the order of the file: at most `limit`, and about 1 MB. Empty after the last one. */
  async listInOrder(
    caller: Caller,
    { runId, partnerId }: JournalScope,
    { after, limit, annotation, result, isRefused = false }: RowFilter & { after: number; limit: number },
  ): Promise<{ rows: StoredRow[]; truncated: boolean }> {
    const params = { runId, partnerId, after, limit, annotation, result, isRefused };
    const rows = await this.tenants.read<StoredRow>(caller, LIST_IN_ORDER, params);
    return { rows, truncated: takeBudgetColumns(rows) };
  }
}

async function change(
  tx: TenantTransaction,
  sql: string,
  { runId, partnerId }: JournalScope,
  rows: readonly { index: number }[],
): Promise<void> {
  if (rows.length === 0) return;
  const indexes = rows.map(({ index }) => index);
  const [first, last] = [Math.min(...indexes), Math.max(...indexes)];
  await tx.query(sql, { runId, partnerId, first, last, rows: JSON.stringify(rows) });
}
