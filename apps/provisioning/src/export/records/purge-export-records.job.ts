import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { Job } from '@rmm/service-kit';
import { ExportRecordsRepository } from './export-records.repository.js';

/** Longer than the stream stores messages: none older than the deletion arrives any more. */
const KEPT_DAYS = 15;
const BATCH = 1_000;

/** Deletes the rows of deleted records. */
@Injectable()
export class PurgeExportRecordsJob {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly records: ExportRecordsRepository,
  ) {}

  @Job({ name: 'purge-export-records', everyMs: 600_000 })
  async run(): Promise<void> {
    while ((await this.records.purge(this.worker, KEPT_DAYS, BATCH)) === BATCH);
  }
}
