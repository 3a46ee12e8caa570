import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import type { AuditAction } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { Idempotency, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { Clock, JobScheduler, ValidationError } from '@rmm/service-kit';
import type { SortedPage } from '../lists/dto/sorted-page.dto.js';
import { assertMayImport, toActingSession } from './acting-user.service.js';
import type { CommitImportRunDto } from './dto/commit-import-run.dto.js';
import type { ImportRunDto } from './dto/import-run.dto.js';
import { readMapping, type UpdateImportRunDto, type UploadImportDto } from './dto/import-upload.dto.js';
import type { ListImportRunsDto } from './dto/list-import-runs.dto.js';
import { findMappingProblems, missingFields } from './files/column-mapping.js';
import type { ImportRun, ImportRunState } from './import-run.entity.js';
import { ImportMappingIncomplete, ImportRunStateConflict, ImportUndoExpired } from './import-run.errors.js';
import { isActive, toImportRunDto, undoableUntil } from './import-run.mapper.js';
import { ImportRunsRepository } from './import-runs.repository.js';
import type { StoredUpload } from './import-upload.service.js';
import { IMPORT_RUN_JOBS } from './process-import-runs.job.js';

/** Lists runs and takes requests for them; a job does what takes time. @see docs/reference/provisioning.md#import-runs */
@Injectable()
export class ImportRunsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly runs: ImportRunsRepository,
    private readonly idempotency: Idempotency,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
    private readonly jobs: JobScheduler,
  ) {}

  /** @throws InvalidCursor */
  async list(caller: Caller, query: ListImportRunsDto): Promise<SortedPage<ImportRunDto>> {
    const { kind, state } = query;
    const { rows, pagination } = await this.runs.list(caller, { kind, state }, query);
    return { data: rows.map((run) => this.toDto(run)), pagination };
  }

  /** @throws NotFoundError */
  async get(caller: Caller, id: string): Promise<ImportRunDto> {
    return this.toDto(await this.runs.get(caller, id));
  }

  /** Creates the run of an uploaded file, whose rows are read next. @throws ValidationError, PermissionDenied */
  create(caller: Caller, upload: StoredUpload, { kind, mapping: given }: UploadImportDto): Promise<ImportRunDto> {
    assertMayImport(caller, kind);
    const mapping = given === undefined ? null : readMapping(given);
    if (mapping !== null) assertMapping(findMappingProblems(kind, mapping, null));
    const { runId: id, partnerId, fileName, bytes } = upload;
    const acting = toActingSession(caller);
    return this.tenants.transaction(caller, async (tx) => {
      const run = await this.runs.create(tx, {
        ...{ id, partnerId, kind, source: 'file', state: 'parsing', fileName, fileBytes: String(bytes), mapping },
        ...{ createdBy: acting.userId, acting },
      });
      await this.record(tx, caller, 'import.create', run, { kind, bytes });
      this.startJobs(tx);
      return this.toDto(run);
    });
  }

  /** Reads the rows again by another mapping. @throws NotFoundError, ImportRunStateConflict, ValidationError */
  update(caller: Caller, id: string, { mapping }: UpdateImportRunDto): Promise<ImportRunDto> {
    return this.change(caller, id, 'import.update', async (tx, run) => {
      assertState(run, 'ready');
      assertMapping(findMappingProblems(run.kind, mapping, run.columns));
      assertComplete(run, mapping);
      return this.runs.change(tx, id, {
        ...{ mapping, state: 'annotating', annotations: {}, progress: {}, done: 0, stepStartedAt: null },
        acting: toActingSession(caller),
      });
    });
  }

  /**
   * Starts the commit of a previewed file, or continues one that failed. A repeated request with the same idempotency key
   * gets the same response.
   * @throws NotFoundError, ImportRunStateConflict, ImportMappingIncomplete
   */
  commit(caller: Caller, id: string, dto: CommitImportRunDto): Promise<ImportRunDto> {
    const { mode = 'skip', confirmMatches, reactivate, rows } = dto;
    return this.change(caller, id, 'import.commit', async (tx, run) => {
      const acting = toActingSession(caller);
      if (isInterrupted(run)) {
        return this.runs.change(tx, id, { state: 'committing', failure: null, finishedAt: null, acting });
      }
      assertState(run, 'ready');
      assertComplete(run, run.mapping ?? {});
      return this.runs.change(tx, id, {
        ...{ state: 'committing', mode, options: { confirmMatches, reactivate, rows }, done: 0, acting },
        ...{ progress: { position: -1 }, stepStartedAt: null },
      });
    });
  }

  /** Stops a run; what it has imported stays and can be undone. @throws NotFoundError, ImportRunStateConflict */
  cancel(caller: Caller, id: string): Promise<ImportRunDto> {
    return this.change(caller, id, 'import.cancel', (tx, run) => {
      assertState(run, 'parsing', 'annotating', 'ready', 'committing', 'failed');
      const now = new Date(this.clock.nowMs());
      const committedAt = run.imported + run.updated > 0 ? now : run.committedAt;
      return this.runs.change(tx, id, { state: 'cancelled', committedAt, finishedAt: now });
    });
  }

  /** Starts to undo a run. @throws NotFoundError, ImportRunStateConflict, ImportUndoExpired */
  undo(caller: Caller, id: string): Promise<ImportRunDto> {
    return this.change(caller, id, 'import.undo', (tx, run) => {
      const until = undoableUntil(run);
      if (until === null || isActive(run)) throw new ImportRunStateConflict(run.state);
      if (until.getTime() <= this.clock.nowMs()) throw new ImportUndoExpired();
      return this.runs.change(tx, id, {
        ...{ state: 'undoing', done: 0, failure: null, finishedAt: null, stepStartedAt: null },
        acting: toActingSession(caller),
      });
    });
  }

  private change(
    caller: Caller,
    id: string,
    action: AuditAction,
    apply: (tx: TenantTransaction, run: ImportRun) => Promise<ImportRun>,
  ): Promise<ImportRunDto> {
    return this.tenants.transaction(caller, (tx) =>
      this.idempotency.once(tx, async () => {
        const before = await this.runs.lock(tx, id);
        assertMayImport(caller, before.kind);
        const run = await apply(tx, before);
        await this.record(tx, caller, action, run, { kind: run.kind, mode: run.mode });
        if (isActive(run)) this.startJobs(tx);
        return this.toDto(run);
      }),
    );
  }

  /** Lets this replica work on the run at once; without it, each replica looks for runs at its next interval. */
  private startJobs(tx: TenantTransaction): void {
    tx.afterCommit(() => IMPORT_RUN_JOBS.forEach((name) => this.jobs.start(name)));
  }

  private async record(
    tx: TenantTransaction,
    caller: Caller,
    action: AuditAction,
    { id, fileName, partnerId }: ImportRun,
    details: Record<string, unknown>,
  ): Promise<void> {
    const resource = { type: 'import_run', id, name: fileName, orgId: null, partnerId };
    await this.audit.record(tx, caller, action, resource, details);
  }

  private toDto(run: ImportRun): ImportRunDto {
    return toImportRunDto(run, this.clock.nowMs());
  }
}

/** A commit that failed in between continues at its next chunk. */
const isInterrupted = ({ state, failure }: ImportRun): boolean => state === 'failed' && failure?.step === 'committing';

function assertState({ state }: ImportRun, ...allowed: ImportRunState[]): void {
  if (!allowed.includes(state)) throw new ImportRunStateConflict(state);
}

function assertComplete({ kind }: ImportRun, mapping: Record<string, string>): void {
  const missing = missingFields(kind, mapping);
  if (missing.length > 0) throw new ImportMappingIncomplete(missing);
}

function assertMapping(fieldErrors: Record<string, string[]>): void {
  if (Object.keys(fieldErrors).length > 0) throw new ValidationError(undefined, { fieldErrors });
}
