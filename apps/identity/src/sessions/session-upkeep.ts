import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { Logger, RepeatedWork } from '@rmm/service-kit';
import { KnownDevices } from './known-devices.js';
import { SessionsRepository } from './sessions.repository.js';

const BATCH = 1_000;

/** Deletes sessions long after their end and devices that are no longer used. Replicas may run it at the same time. */
@Injectable()
export class SessionUpkeep extends RepeatedWork {
  protected readonly what = 'The session upkeep';
  protected readonly everyMs = 600_000;

  constructor(
    private readonly worker: WorkerDatabase,
    private readonly sessions: SessionsRepository,
    private readonly devices: KnownDevices,
    logger: Logger,
  ) {
    super(logger);
  }

  async run(): Promise<void> {
    await this.devices.purge(this.worker, BATCH);
    while ((await this.sessions.purgeEnded(this.worker, BATCH)) === BATCH);
  }
}
