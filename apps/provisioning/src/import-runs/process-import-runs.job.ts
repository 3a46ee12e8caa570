import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { ImportRunWorkerService } from './import-run-worker.service.js';

/** Runs of this process at the same time. */
const PARALLEL = 2;

/**
 * Works on the import runs that wait. The rows of the table are the queue: losing Redis loses nothing, and a run that is
 * committed waits at most this interval.
 */
@Injectable()
export class ProcessImportRunsJob implements OnModuleDestroy {
  private isStopping = false;

  constructor(private readonly worker: ImportRunWorkerService) {}

  @Job({ name: 'process-import-runs', everyMs: 500 })
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: PARALLEL }, () => this.workUntilIdle()));
  }

  onModuleDestroy(): void {
    this.isStopping = true;
  }

  private async workUntilIdle(): Promise<void> {
    while (!this.isStopping && (await this.worker.processNext()));
  }
}
