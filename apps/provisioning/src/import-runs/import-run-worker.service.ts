import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { ConcurrencyLimits } from '@rmm/rate-limits';
import { Logger, RateLimitedError } from '@rmm/service-kit';
import { CONCURRENT_IMPORTS } from '../limits.js';
import { ActingUserService } from './acting-user.service.js';
import type { ActiveImportState } from './import-run.entity.js';
import { ImportLeaseLost, ImportRunFailed } from './import-run.errors.js';
import { ImportRunsRepository, type LeasedRun } from './import-runs.repository.js';
import { AnnotateRowsService } from './steps/annotate-rows.service.js';
import { CommitRowsService } from './steps/commit-rows.service.js';
import { ParseFileService } from './steps/parse-file.service.js';
import { UndoImportService } from './undo/undo-import.service.js';

/** Works on a run for this long before another one has its turn. */
const SLICE_MS = 2_000;
/** While no other run waits, a slice lasts this long; less than the lease of its place among the imports of the partner. */
const LONGEST_SLICE_MS = 10_000;
/** A run without progress for this long fails; until then what failed is tried again. */
const STUCK_MS = 10 * 60_000;

/** Does one chunk of a step in a transaction. @returns false when the step is done */
export interface ImportStep {
  runChunk(caller: UserCaller, run: LeasedRun): Promise<boolean>;
}

/**
 * Works on active runs, one slice of time each. The work of a process that dies is rolled back to its last chunk, and
 * another replica continues there once the lease has ended.
 */
@Injectable()
export class ImportRunWorkerService {
  private readonly steps: Record<ActiveImportState, ImportStep>;

  constructor(
    private readonly runs: ImportRunsRepository,
    private readonly users: ActingUserService,
    private readonly concurrency: ConcurrencyLimits,
    private readonly logger: Logger,
    parse: ParseFileService,
    annotate: AnnotateRowsService,
    commit: CommitRowsService,
    undo: UndoImportService,
  ) {
    this.steps = { parsing: parse, annotating: annotate, committing: commit, undoing: undo };
  }

  /**
   * Works on the run that waits longest, until it is done or its slice ends.
   * @param stop  ends the work after the current chunk
   * @returns false when no run waits
   */
  async processNext(stop: AbortSignal): Promise<boolean> {
    const run = await this.runs.lease();
    if (run === null) return false;
    try {
      await this.processSlice(run, stop);
      await this.runs.release(run);
    } catch (error) {
      await this.handleFailure(run, error);
    }
    return true;
  }

  private async processSlice(run: LeasedRun, stop: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    const isOver = async () => {
      const ms = performance.now() - startedAt;
      return ms >= LONGEST_SLICE_MS || (ms >= SLICE_MS && (await this.runs.isAnyWaiting()));
    };
    const work = async () => {
      do {
        const caller = await this.users.revalidate(run);
        const { state } = run;
        const isMore = await this.steps[state].runChunk(caller, run);
        if (!isMore) return;
      } while (!stop.aborted && !(await isOver()));
    };
    await this.concurrency.run(CONCURRENT_IMPORTS, run.partnerId, work);
  }

  private async handleFailure(run: LeasedRun, error: unknown): Promise<void> {
    const { id: runId, state, partnerId } = run;
    if (error instanceof ImportLeaseLost) return;
    if (error instanceof RateLimitedError) return this.runs.release(run, true);
    if (error instanceof ImportRunFailed) {
      this.logger.info(
        { runId, partnerId, state, code: error.code },
        'An import run failed; its user can see the reason',
      );
      return this.runs.fail(run, { code: error.code, error: error.message, step: state });
    }
    if (Date.now() - run.updatedAt.getTime() < STUCK_MS) {
      this.logger.warn({ err: error, runId, partnerId, state }, 'A chunk of an import run failed; it is tried again');
      return this.runs.release(run, true);
    }
    this.logger.error({ err: error, runId, partnerId, state }, 'An import run makes no progress; it has failed');
    await this.runs.fail(run, { code: 'import_failed', error: 'The import could not be completed', step: state });
  }
}
