import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { WorkerDatabase } from '../worker/worker-database.js';

const EVERY_MS = 3_600_000;

/** Once at start and each hour: makes partitions ahead and drops the old ones. Several replicas may do it at once. */
export class PartitionMaintenanceJob implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(PartitionMaintenanceJob.name);
  private timer?: NodeJS.Timeout;
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly worker: WorkerDatabase) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.runInBackground(), EVERY_MS).unref();
    this.runInBackground();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  /** @returns how many partitions were made and dropped; nothing to do in a schema without partitioned tables */
  async run(): Promise<{ created: number; dropped: number }> {
    const [known] = await this.worker.query<{ found: boolean }>(
      `select to_regprocedure('rmm_partition_upkeep()') is not null as found`,
    );
    if (!known?.found) return { created: 0, dropped: 0 };
    const [done] = await this.worker.query<{ created: number; dropped: number }>(
      'select created, dropped from rmm_partition_upkeep()',
    );
    return done ?? { created: 0, dropped: 0 };
  }

  private runInBackground(): void {
    this.running = this.run().then(
      ({ created, dropped }) => {
        if (created + dropped > 0) this.logger.log(`Partitions: ${created} made, ${dropped} dropped`);
      },
      (error: unknown) => this.logger.warn(`Partition upkeep failed, next try in an hour: ${String(error)}`),
    );
  }
}
