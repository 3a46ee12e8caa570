import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { Logger } from '@rmm/service-kit';
import { RegistrationsRepository } from '../registration/registrations.repository.js';
import { KnownDevices } from './known-devices.js';
import { SessionsRepository } from './sessions.repository.js';

const EVERY_MS = 600_000;
const BATCH = 1_000;

/** Removes what has ended: families long past their end, sign-ups nobody confirmed, devices
 * nobody uses any more. Replicas may do it side by side. */
@Injectable()
export class SessionUpkeep implements OnApplicationBootstrap, OnModuleDestroy {
  private timer?: NodeJS.Timeout;
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly worker: WorkerDatabase,
    private readonly sessions: SessionsRepository,
    private readonly registrations: RegistrationsRepository,
    private readonly devices: KnownDevices,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.runInBackground(), EVERY_MS).unref();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  async run(): Promise<void> {
    await this.registrations.purgeExpired(this.worker);
    await this.devices.purge(this.worker, BATCH);
    while ((await this.sessions.purgeEnded(this.worker, BATCH)) === BATCH);
  }

  private runInBackground(): void {
    this.running = this.run().catch((err: unknown) => this.logger.warn({ err }, 'The session upkeep failed'));
  }
}
