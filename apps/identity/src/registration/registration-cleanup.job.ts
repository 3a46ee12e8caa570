import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { Logger, RepeatedWork } from '@rmm/service-kit';
import { RegistrationsRepository } from './registrations.repository.js';

/** Deletes registrations that were not confirmed in time. Replicas may run it at the same time. */
@Injectable()
export class RegistrationCleanupJob extends RepeatedWork {
  protected readonly what = 'The registration cleanup';
  protected readonly everyMs = 600_000;

  constructor(
    private readonly worker: WorkerDatabase,
    private readonly registrations: RegistrationsRepository,
    logger: Logger,
  ) {
    super(logger);
  }

  run(): Promise<void> {
    return this.registrations.deleteExpired(this.worker);
  }
}
