import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { USAGE_DAYS } from './dto/usage-query.dto.js';
import { KeyUsageRepository } from './key-usage.repository.js';

/** Rows deleted by one statement, so that it ends within the time limit of statements however many there are. */
const BATCH = 5_000;

/** Deletes daily usage older than 90 days, and batches that no sender repeats. */
@Injectable()
export class CleanUpKeyUsageJob {
  constructor(private readonly repository: KeyUsageRepository) {}

  @Job({ name: 'clean-up-key-usage', everyMs: 600_000 })
  async run(): Promise<void> {
    while ((await this.repository.deleteOldBatches(BATCH)) === BATCH);
    while ((await this.repository.deleteOldDays(USAGE_DAYS, BATCH)) === BATCH);
  }
}
