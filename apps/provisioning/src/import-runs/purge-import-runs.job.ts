import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { ImportRunsRepository } from './import-runs.repository.js';

/** Hours in which a run can be undone after its commit. */
export const UNDO_HOURS = 72;
/** Days for which the rows of a file are kept after the last change of its run. */
export const ROW_DAYS = 7;
/** Days for which a run is listed after its last change. */
export const RUN_DAYS = 90;
const BATCHES = 200;

/** Deletes rows of files and journals, which contain personal data, once they serve no purpose any more. */
@Injectable()
export class PurgeImportRunsJob {
  constructor(private readonly runs: ImportRunsRepository) {}

  @Job({ name: 'purge-import-runs', everyMs: 600_000 })
  async run(): Promise<void> {
    const kept = { rows: ROW_DAYS, runs: RUN_DAYS, undoHours: UNDO_HOURS };
    for (let batch = 0; batch < BATCHES && (await this.runs.purge(kept)) > 0; batch += 1);
  }
}
