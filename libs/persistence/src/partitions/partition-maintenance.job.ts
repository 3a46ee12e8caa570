import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { WorkerDatabase } from '../worker/worker-database.js';

const EVERY_MS = 3_600_000;

/** Creates partitions ahead and drops old ones, at start and each hour. Several replicas may run it at once. */
@Injectable()
export class PartitionMaintenanceJob implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(PartitionMaintenanceJob.name);
  private timer?: NodeJS.Timeout;
  private running: Promise<void> = Promise.resolve();

  constructor(@Inject(WorkerDatabase) private readonly worker: WorkerDatabase) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.runInBackground(), EVERY_MS).unref();
    this.runInBackground();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  /** @returns how many partitions were created and dropped; none in a schema without partitioned tables */
  async run(): Promise<{ created: number; dropped: number }> {
    const [known] = await this.worker.query<{ found: boolean }>(
      `SELECT to_regprocedure('rmm_maintain_partitions()') IS NOT NULL AS found`,
    );
    if (!known?.found) return { created: 0, dropped: 0 };
    const [done] = await this.worker.query<{ created: number; dropped: number }>(
      'SELECT created, dropped FROM rmm_maintain_partitions()',
    );
    return done ?? { created: 0, dropped: 0 };
  }

  private runInBackground(): void {
    this.running = this.run().then(
      ({ created, dropped }) => {
        if (created + dropped > 0) this.logger.log(`Partitions: ${created} created, ${dropped} dropped`);
      },
      (error: unknown) => this.logger.warn(`Partition maintenance failed; next attempt in an hour: ${String(error)}`),
    );
  }
}
