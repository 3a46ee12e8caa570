import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { Job } from '@rmm/service-kit';
import { RegistrationsRepository } from '../registration/registrations.repository.js';
import { KnownDevices } from './known-devices.js';
import { SessionsRepository } from './sessions.repository.js';

const BATCH = 1_000;

/** Removes what has ended: families long past their end, sign-ups nobody confirmed, devices
 * nobody uses any more. Replicas may do it side by side. */
@Injectable()
export class SessionUpkeep {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly sessions: SessionsRepository,
    private readonly registrations: RegistrationsRepository,
    private readonly devices: KnownDevices,
  ) {}

  @Job({ name: 'purge-ended-sessions', everyMs: 600_000 })
  async run(): Promise<void> {
    await this.registrations.purgeExpired(this.worker);
    await this.devices.purge(this.worker, BATCH);
    while ((await this.sessions.purgeEnded(this.worker, BATCH)) === BATCH);
  }
}
