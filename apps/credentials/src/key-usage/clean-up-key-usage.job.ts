import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { USAGE_DAYS } from './dto/usage-query.dto.js';
import { KeyUsageRepository } from './key-usage.repository.js';

/** Deletes daily usage older than 90 days, and batches that no sender repeats. */
@Injectable()
export class CleanUpKeyUsageJob {
  constructor(private readonly repository: KeyUsageRepository) {}

  @Job({ name: 'clean-up-key-usage', everyMs: 600_000 })
  run(): Promise<void> {
    return this.repository.deleteOld(USAGE_DAYS);
  }
}
