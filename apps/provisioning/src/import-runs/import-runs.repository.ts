import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Caller } from '@rmm/access';
import {
  type SqlExecutor,
  TenantDatabase,
  type TenantTransaction,
  WorkerDatabase,
  type WorkerTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import {
  NEWEST_FIRST,
  SortedListRepository,
  type SortedPageRequest,
  type SortedRows,
} from '../lists/sorted-list.repository.js';
import type { ActiveImportState, ImportKind, ImportFailure, ImportRunState } from './import-run.entity.js';
import { ACTIVE_STATES, ImportRun } from './import-run.entity.js';
import { ImportLeaseLost } from './import-run.errors.js';

/** A run on which this process works until its lease ends. */
export type LeasedRun = ImportRun & { leaseId: string; state: ActiveImportState };

export interface ImportRunFilter {
  kind?: ImportKind;
  state?: ImportRunState;
}

/** Progress that a chunk adds to a run. Absent counters stay, as does an absent state. */
export interface RunAdvance {
  state?: ImportRunState;
  progress?: ImportRun['progress'];
  done?: number;
  imported?: number;
  updated?: number;
  skipped?: number;
  failed?: number;
  undoRestored?: number;
  undoKept?: number;
  total?: number;
  columns?: string[];
  mapping?: Record<string, string>;
  annotations?: Record<string, number>;
}

/** A replica that died keeps its run this long. */
const LEASE_SECONDS = 30;
const RETRY_SECONDS = 3;

const RUN = `r.id, r.partner_id AS "partnerId", r.kind, r.source, r.connection_id AS "connectionId", r.state, r.mode, r.options,
  r.file_name AS "fileName", r.file_bytes AS "fileBytes", r.columns, r.mapping, r.total, r.done, r.imported, r.updated,
  r.skipped, r.failed, r.annotations, r.undo_restored AS "undoRestored", r.undo_kept AS "undoKept", r.progress, r.failure,
  r.created_by AS "createdBy", r.acting, r.lease_id AS "leaseId", r.leased_until AS "leasedUntil",
  r.step_started_at AS "stepStartedAt", r.created_at AS "createdAt", r.updated_at AS "updatedAt",
  r.committed_at AS "committedAt", r.finished_at AS "finishedAt"`;

const ACTIVE = `('${ACTIVE_STATES.join("', '")}')`;
const WAITING = `state IN ${ACTIVE} AND (leased_until IS NULL OR leased_until <= now())`;

/** The run that waits longest; a run that was worked on goes to the end of the queue. */
const LEASE = `
  WITH next AS (
    SELECT id FROM import_run
     WHERE ${WAITING}
     ORDER BY leased_until NULLS FIRST, created_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  UPDATE import_run r
     SET lease_id = :leaseId, leased_until = now() + make_interval(secs => ${LEASE_SECONDS}),
         step_started_at = coalesce(r.step_started_at, now())
    FROM next WHERE r.id = next.id
  RETURNING ${RUN}`;

const RELEASE = `
  UPDATE import_run SET lease_id = NULL, leased_until = now() + make_interval(secs => :seconds)
   WHERE id = :id AND lease_id = :leaseId`;

const FAIL = `
  UPDATE import_run
     SET state = 'failed', failure = :failure::jsonb, lease_id = NULL, updated_at = now(), finished_at = now(),
         committed_at = CASE WHEN state = 'committing' AND imported + updated > 0 THEN now() ELSE committed_at END
   WHERE id = :id AND lease_id = :leaseId`;

/** Fenced: no row when the lease went to another replica, or when a request changed the state. */
const ADVANCE = `
  UPDATE import_run r
     SET state = coalesce(:state, r.state), progress = coalesce(:progress::jsonb, r.progress),
         done = CASE WHEN :isNewStep THEN 0 ELSE r.done + :done END,
         imported = r.imported + :imported, updated = r.updated + :updated, skipped = r.skipped + :skipped,
         failed = r.failed + :failed, undo_restored = r.undo_restored + :undoRestored,
         undo_kept = r.undo_kept + :undoKept, total = coalesce(:total, r.total),
         columns = coalesce(:columns::jsonb, r.columns), mapping = coalesce(:mapping::jsonb, r.mapping),
         annotations = coalesce(:annotations::jsonb, r.annotations),
         leased_until = now() + make_interval(secs => ${LEASE_SECONDS}), updated_at = now(),
         step_started_at = CASE WHEN :state IS NULL OR :state = r.state THEN r.step_started_at ELSE now() END,
         committed_at = CASE WHEN :state IN ('completed', 'completed_with_errors') THEN now() ELSE r.committed_at END,
         finished_at = CASE WHEN :state IN ('completed', 'completed_with_errors', 'undone') THEN now() ELSE r.finished_at END
   WHERE r.id = :id AND r.partner_id = :partnerId AND r.lease_id = :leaseId AND r.state = :expected
  RETURNING ${RUN}`;

const KEEP_UNSEEN = `
  UPDATE import_change SET outcome = 'kept', reason = 'no_access' WHERE run_id = :id AND outcome IS NULL RETURNING 1 AS one`;

/** Rows of one statement. */
const MAX_PURGED = 10_000;

/** Deletes parts of expired runs, which are found by their parts: most runs are older and have none. */
const purgeParts = (table: string, isExpired: string): string => `
  WITH RECURSIVE stored AS (
    (SELECT p.run_id AS id FROM ${table} p ORDER BY p.run_id LIMIT 1)
    UNION ALL
    SELECT (SELECT p.run_id FROM ${table} p WHERE p.run_id > s.id ORDER BY p.run_id LIMIT 1) FROM stored s
     WHERE s.id IS NOT NULL)
  DELETE FROM ${table} WHERE ctid = ANY (ARRAY (
    SELECT p.ctid FROM ${table} p
     WHERE p.run_id = ANY (ARRAY (SELECT r.id FROM import_run r WHERE r.id IN (SELECT id FROM stored) AND ${isExpired}))
     LIMIT ${MAX_PURGED}))
  RETURNING 1 AS one`;

const PURGE_ROWS = purgeParts(
  'import_run_row',
  `r.source = 'file' AND r.updated_at < now() - make_interval(days => :days)
   AND r.state NOT IN ${ACTIVE}`,
);

const PURGE_CHANGES = purgeParts(
  'import_change',
  `r.committed_at < now() - make_interval(hours => :hours) AND r.state <> 'undoing'
   AND r.updated_at < now() - make_interval(days => 1)`,
);

const PURGE_CHUNKS = `
  DELETE FROM import_file_chunk c
   WHERE c.created_at < now() - interval '1 day'
     AND NOT EXISTS (SELECT FROM import_run r WHERE r.id = c.run_id AND r.state = 'parsing')
  RETURNING 1 AS one`;

const PURGE_RUNS = `
  DELETE FROM import_run WHERE id IN (
    SELECT id FROM import_run
     WHERE updated_at < now() - make_interval(days => :days)
       AND state NOT IN ${ACTIVE} LIMIT 500)
  RETURNING 1 AS one`;

/** Stores import runs, and leases the active ones to replicas. */
@Injectable()
export class ImportRunsRepository extends SortedListRepository<ImportRun, never> {
  constructor(
    tenants: TenantDatabase,
    @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'secrets'>,
    private readonly worker: WorkerDatabase,
  ) {
    const options = { ownership: 'partner' as const, list: 'import-runs', orders: { created: NEWEST_FIRST } };
    super(tenants, config, ImportRun, () => new NotFoundError('Import run'), options);
  }

  /** Lists one page, newest first. @throws InvalidCursor */
  list(caller: Caller, filter: ImportRunFilter, page: SortedPageRequest<never>): Promise<SortedRows<ImportRun>> {
    const { kind, state } = filter;
    return this.listSorted<ImportRun>(caller, page, filter, {
      where: { kind, state },
      budget: { columns: ['columns', 'mapping', 'options'] },
    });
  }

  /** @throws NotFoundError */
  get(source: Caller | TenantTransaction, id: string): Promise<ImportRun> {
    return this.getOne(source, { where: { id } });
  }

  /** Locks a run until the transaction ends, also against the replica that works on it. @throws NotFoundError */
  lock(tx: TenantTransaction, id: string): Promise<ImportRun> {
    return this.getOne(tx, { where: { id }, lock: 'FOR UPDATE' });
  }

  create(tx: TenantTransaction, run: Partial<ImportRun>): Promise<ImportRun> {
    return this.insert(tx, run);
  }

  /** Changes a run that is locked, whose lease ends with that. */
  change(tx: TenantTransaction, id: string, changes: Partial<ImportRun>): Promise<ImportRun> {
    return this.updateOne(tx, { id }, { ...changes, leaseId: null, leasedUntil: null, updatedAt: () => 'now()' });
  }

  /** Leases the next active run; null when there is none. */
  async lease(): Promise<LeasedRun | null> {
    const [run] = await this.worker.query<LeasedRun>(LEASE, { leaseId: randomUUID() });
    return run ?? null;
  }

  /** Returns whether a run waits to be leased. */
  async isAnyWaiting(): Promise<boolean> {
    const [{ found }] = await this.worker.query<{ found: boolean }>(
      `SELECT EXISTS (SELECT FROM import_run WHERE ${WAITING}) AS found`,
    );
    return found;
  }

  /** Ends a lease; a run that has to wait is leased again after some seconds. */
  async release({ id, leaseId }: LeasedRun, isRetry = false): Promise<void> {
    await this.worker.query(RELEASE, { id, leaseId, seconds: isRetry ? RETRY_SECONDS : 0 });
  }

  async fail({ id, leaseId }: LeasedRun, failure: ImportFailure & { step: string }): Promise<void> {
    await this.worker.query(FAIL, { id, leaseId, failure: JSON.stringify(failure) });
  }

  /** Stores the progress of a chunk in its transaction, extends the lease and updates `run`. @throws ImportLeaseLost */
  async advance(tx: SqlExecutor, run: LeasedRun, advance: RunAdvance): Promise<void> {
    const { state = null, progress, columns, mapping, annotations, total = null, ...counts } = advance;
    const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value));
    const [row] = await tx.query<LeasedRun>(ADVANCE, {
      ...{ id: run.id, partnerId: run.partnerId, leaseId: run.leaseId, expected: run.state },
      ...{ done: 0, imported: 0, updated: 0, skipped: 0, failed: 0, undoRestored: 0, undoKept: 0 },
      ...{ state, total, progress: json(progress), columns: json(columns), mapping: json(mapping) },
      ...{ annotations: json(annotations), isNewStep: state === 'annotating' || state === 'committing' },
      ...counts,
    });
    if (!row) throw new ImportLeaseLost();
    Object.assign(run, row);
  }

  /** Reports the changes that the caller of an undo does not see any more. @returns their number */
  async keepUnseen(tx: WorkerTransaction, { id }: LeasedRun): Promise<number> {
    return (await tx.query(KEEP_UNSEEN, { id })).length;
  }

  /** Deletes some of what is kept no longer. @returns the number of rows */
  async purge(days: { rows: number; runs: number; undoHours: number }): Promise<number> {
    const deleted = [
      await this.worker.query(PURGE_ROWS, { days: days.rows }),
      await this.worker.query(PURGE_CHANGES, { hours: days.undoHours }),
      await this.worker.query(PURGE_CHUNKS),
      await this.worker.query(PURGE_RUNS, { days: days.runs }),
    ];
    return deleted.reduce((sum, rows) => sum + rows.length, 0);
  }
}
