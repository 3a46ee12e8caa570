import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { Job } from '@rmm/service-kit';

/** A batch that was not acknowledged is sent again for as long as its sender lives and credentials is away. */
const BATCHES_KEPT = '1 day';
const DAYS_KEPT = 90;

/** Forgets uses by day after ninety days, and batches nobody sends again. */
@Injectable()
export class KeyUsageUpkeep {
  constructor(private readonly worker: WorkerDatabase) {}

  @Job({ name: 'purge-key-usage', everyMs: 600_000 })
  async run(): Promise<void> {
    await this.worker.query(`DELETE FROM key_usage_batch WHERE received_at < now() - interval '${BATCHES_KEPT}'`);
    await this.worker.query(`DELETE FROM api_key_usage WHERE day <= (now() AT TIME ZONE 'UTC')::date - ${DAYS_KEPT}`);
  }
}
