import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { Job } from '@rmm/service-kit';
import { RegistrationsRepository } from './registrations.repository.js';

/** Deletes registrations that were not confirmed in time. Replicas may run it at the same time. */
@Injectable()
export class DeleteExpiredRegistrationsJob {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly registrations: RegistrationsRepository,
  ) {}

  @Job({ name: 'delete-expired-registrations', everyMs: 600_000 })
  run(): Promise<void> {
    return this.registrations.deleteExpired(this.worker);
  }
}
