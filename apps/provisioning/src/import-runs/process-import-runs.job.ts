import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { ImportRunWorkerService } from './import-run-worker.service.js';

/** The jobs of a process, which work on one run each at the same time. */
export const IMPORT_RUN_JOBS = ['process-import-runs', 'process-more-import-runs'] as const;

/** A run that another replica took a request for is seen after this time at the latest. */
const EVERY_MS = 500;

/** Works on the import runs that wait. The rows of the table are the queue: losing Redis loses nothing. */
@Injectable()
export class ProcessImportRunsJob implements OnModuleDestroy {
  private readonly stop = new AbortController();

  constructor(private readonly worker: ImportRunWorkerService) {}

  @Job({ name: IMPORT_RUN_JOBS[0], everyMs: EVERY_MS })
  run(): Promise<void> {
    return this.workUntilIdle();
  }

  @Job({ name: IMPORT_RUN_JOBS[1], everyMs: EVERY_MS })
  runMore(): Promise<void> {
    return this.workUntilIdle();
  }

  onModuleDestroy(): void {
    this.stop.abort();
  }

  private async workUntilIdle(): Promise<void> {
    const { signal } = this.stop;
    while (!signal.aborted && (await this.worker.processNext(signal)));
  }
}
