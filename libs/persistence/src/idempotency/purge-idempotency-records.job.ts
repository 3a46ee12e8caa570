import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { WorkerDatabase } from '../worker/worker-database.service.js';
import { IdempotencyRepository } from './idempotency.repository.js';

const BATCH = 500;
const MAX_BATCHES = 100;

/** Deletes expired records in batches, and responses that are kept for a shorter time. Several replicas may run it at once. */
@Injectable()
export class PurgeIdempotencyRecordsJob {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: IdempotencyRepository,
  ) {}

  /** @returns how many records were deleted */
  @Job({ name: 'purge-idempotency-records', everyMs: 600_000 })
  async run(): Promise<number> {
    await inBatches(() => this.repository.eraseResponses(this.worker, BATCH));
    return inBatches(() => this.repository.purge(this.worker, BATCH));
  }
}

async function inBatches(run: () => Promise<number>): Promise<number> {
  let total = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const changed = await run();
    total += changed;
    if (changed < BATCH) break;
  }
  return total;
}
