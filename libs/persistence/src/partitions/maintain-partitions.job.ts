import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { WorkerDatabase } from '../worker/worker-database.service.js';

/** Creates partitions ahead and drops old ones, at start and each hour. Several replicas may run it at once. */
@Injectable()
export class MaintainPartitionsJob implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(MaintainPartitionsJob.name);
  private firstRun?: Promise<unknown>;

  constructor(@Inject(WorkerDatabase) private readonly worker: WorkerDatabase) {}

  onApplicationBootstrap(): void {
    this.firstRun = this.run().catch((err: unknown) =>
      this.logger.warn(`Partition maintenance failed at start; next attempt in an hour: ${String(err)}`),
    );
  }

  async onModuleDestroy(): Promise<void> {
    await this.firstRun;
  }

  /** @returns how many partitions were created and dropped; none in a schema without partitioned tables */
  @Job({ name: 'maintain-partitions', everyMs: 3_600_000 })
  async run(): Promise<{ created: number; dropped: number }> {
    const [known] = await this.worker.query<{ found: boolean }>(
      `SELECT to_regprocedure('rmm_maintain_partitions()') IS NOT NULL AS found`,
    );
    if (!known?.found) return { created: 0, dropped: 0 };
    const [done] = await this.worker.query<{ created: number; dropped: number }>(
      'SELECT created, dropped FROM rmm_maintain_partitions()',
    );
    const { created, dropped } = done ?? { created: 0, dropped: 0 };
    if (created + dropped > 0) this.logger.log(`Partitions: ${created} created, ${dropped} dropped`);
    return { created, dropped };
  }
}
