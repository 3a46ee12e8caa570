import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { Job } from '@rmm/service-kit';
import { SessionsRepository } from './sessions.repository.js';

const BATCH = 1_000;
/** Hours of ended sessions whose tokens are looked for: those of an outage at the start and after a failure, else those of several runs. */
const OUTAGE_HOURS = 72;
const HOURS = 2;

/** Deletes tokens of ended sessions after a day, sessions 30 days after their end, and devices that are no longer used. Replicas may run it at the same time. */
@Injectable()
export class PurgeEndedSessionsJob {
  private hours = OUTAGE_HOURS;

  constructor(
    private readonly worker: WorkerDatabase,
    private readonly sessions: SessionsRepository,
  ) {}

  @Job({ name: 'purge-ended-sessions', everyMs: 600_000 })
  async run(): Promise<void> {
    const { hours } = this;
    this.hours = OUTAGE_HOURS; // until this run has succeeded
    await this.sessions.purgeUnusedDevices(this.worker, BATCH);
    while ((await this.sessions.purgeEndedTokens(this.worker, hours, BATCH)) === BATCH);
    while ((await this.sessions.purgeEnded(this.worker, BATCH)) === BATCH);
    this.hours = HOURS;
  }
}
