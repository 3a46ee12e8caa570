import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { HealthRegistry } from '@rmm/service-kit';
import type { Pool } from 'pg';
import { PartitionMaintenanceJob } from '../partitions/partition-maintenance.job.js';
import { TenantDatabase } from '../tenants/tenant-database.js';
import { WorkerDatabase } from '../worker/worker-database.js';
import { Databases, type PersistenceOptions } from './databases.js';
import { openPatiently } from './open-patiently.js';

const HEALTH_TIMEOUT_MS = 2_000;

/**
 * The database of one service: both doors, the worker login, migrations, health and partition upkeep.
 * The start is refused when a login is not bound by row-level security, or when the schema is behind and
 * MIGRATIONS_DATABASE_URL is not given.
 */
@Module({})
export class PersistenceModule implements OnApplicationShutdown {
  constructor(
    @Inject(Databases) private readonly databases: Databases,
    @Inject(HealthRegistry) health: HealthRegistry,
  ) {
    health.register('database', async () => {
      await Promise.all([answers(databases.servicePool), answers(databases.workerPool)]);
    });
  }

  static forRoot(options: PersistenceOptions): DynamicModule {
    const from = <T>(make: (databases: Databases) => T) => ({ inject: [Databases], useFactory: make });
    return {
      module: PersistenceModule,
      global: true,
      providers: [
        { provide: Databases, useFactory: () => openPatiently(options) },
        { provide: TenantDatabase, ...from((d) => new TenantDatabase(d.servicePool, d.dataSource)) },
        { provide: WorkerDatabase, ...from((d) => new WorkerDatabase(d.workerPool, d.dataSource)) },
        {
          provide: PartitionMaintenanceJob,
          inject: [WorkerDatabase],
          useFactory: (w: WorkerDatabase) => new PartitionMaintenanceJob(w),
        },
      ],
      exports: [TenantDatabase, WorkerDatabase, PartitionMaintenanceJob],
    };
  }

  /** The last of Nest's hooks: whoever drains work before it still has the database. */
  async onApplicationShutdown(): Promise<void> {
    await this.databases.close();
  }
}

async function answers(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(Object.assign({ text: 'select 1' }, { query_timeout: HEALTH_TIMEOUT_MS }));
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}
