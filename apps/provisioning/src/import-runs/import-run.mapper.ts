import type { ImportRunDto } from './dto/import-run.dto.js';
import { ACTIVE_STATES, type ImportRun } from './import-run.entity.js';
import { UNDO_HOURS } from './purge-import-runs.job.js';

const HOUR_MS = 3_600_000;

/** The end of the time in which a run can be undone; null when it has changed nothing or is undone. */
export function undoableUntil({ committedAt, state }: Pick<ImportRun, 'committedAt' | 'state'>): Date | null {
  if (committedAt === null || state === 'undone' || state === 'committing') return null;
  return new Date(committedAt.getTime() + UNDO_HOURS * HOUR_MS);
}

export const isActive = ({ state }: Pick<ImportRun, 'state'>): boolean =>
  (ACTIVE_STATES as readonly string[]).includes(state);

/** Extrapolates the rows done so far; null while nothing runs or is known. */
function etaSeconds({ state, total, done, stepStartedAt }: ImportRun, nowMs: number): number | null {
  if ((state !== 'annotating' && state !== 'committing') || stepStartedAt === null || done === 0) return null;
  const elapsedMs = nowMs - stepStartedAt.getTime();
  return Math.max(0, Math.ceil(((elapsedMs / done) * (total - done)) / 1_000));
}

export const toImportRunDto = (run: ImportRun, nowMs: number): ImportRunDto => ({
  id: run.id,
  partnerId: run.partnerId,
  kind: run.kind,
  source: run.source,
  connectionId: run.connectionId,
  state: run.state,
  mode: run.mode,
  fileName: run.fileName,
  columns: run.columns,
  mapping: run.mapping,
  total: run.total,
  done: run.done,
  imported: run.imported,
  updated: run.updated,
  skipped: run.skipped,
  failed: run.failed,
  annotations: run.annotations,
  etaSeconds: etaSeconds(run, nowMs),
  undo: {
    until: undoableUntil(run)?.toISOString() ?? null,
    restored: run.undoRestored,
    kept: run.undoKept,
  },
  failure: run.failure && { code: run.failure.code, error: run.failure.error },
  createdBy: run.createdBy,
  createdAt: run.createdAt.toISOString(),
  updatedAt: run.updatedAt.toISOString(),
  committedAt: run.committedAt?.toISOString() ?? null,
  finishedAt: run.finishedAt?.toISOString() ?? null,
});
