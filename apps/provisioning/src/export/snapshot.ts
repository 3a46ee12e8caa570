import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { UnavailableError } from '@rmm/service-kit';
import { setTimeout as sleep } from 'node:timers/promises';

const TRIES = 100;
const PAUSE_MS = 20;

/** The lock is taken before the clock is read: CASE evaluates its condition first, and both are volatile. */
const TAKE = `
  select case when pg_try_advisory_xact_lock(hashtextextended('rmm.provisioning.export.' || $1, 0))
              then date_trunc('milliseconds', clock_timestamp()) - interval '1 millisecond' end as at`;

/**
 * The moment a walk stands for: everything stamped up to it has committed, and nothing will be stamped so early again.
 *
 * Changes carry the time of their statement but become visible at their commit, so a plain "now" would pass by a change
 * stamped just before it and committed just after, in this walk and in every later one. Writers of a partner hold a
 * shared lock from their first stamp to their end (trigger `stamp_change`); here the exclusive one is tried, never
 * waited for, so that no queue of writers can form behind a walk.
 */
@Injectable()
export class Snapshots {
  constructor(private readonly worker: WorkerDatabase) {}

  /** @throws UnavailableError  when the partner is written to without a pause for two seconds */
  async take(partnerId: string): Promise<Date> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const [{ at }] = await this.worker.query<{ at: Date | null }>(TAKE, [partnerId]);
      if (at) return at;
      await sleep(PAUSE_MS);
    }
    throw new UnavailableError(undefined, { logDetails: { reason: 'no snapshot while the partner is written to' } });
  }
}
