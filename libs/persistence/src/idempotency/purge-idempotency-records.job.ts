import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { WorkerDatabase } from '../worker/worker-database.service.js';
import { IdempotencyRepository } from './idempotency.repository.js';

const BATCH = 500;
const MAX_BATCHES = 100;

/** Deletes expired responses in batches. Several replicas may run it at once. */
@Injectable()
export class PurgeIdempotencyRecordsJob {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: IdempotencyRepository,
  ) {}

  /** @returns how many were deleted */
  @Job({ name: 'purge-idempotency-records', everyMs: 600_000 })
  async run(): Promise<number> {
    let total = 0;
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      const purged = await this.repository.purge(this.worker, BATCH);
      total += purged;
      if (purged < BATCH) break;
    }
    return total;
  }
}
