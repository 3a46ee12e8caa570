import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Pool } from 'pg';
import { HealthRegistry, MetricsRegistry } from '@rmm/service-kit';
import { MaintainPartitionsJob } from '../partitions/maintain-partitions.job.js';
import { TenantDatabase } from '../tenants/tenant-database.service.js';
import { WorkerDatabase } from '../worker/worker-database.service.js';
import { Databases, openDatabases, type PersistenceOptions } from './databases.service.js';
import { observePools } from './pool.metrics.js';

const HEALTH_TIMEOUT_MS = 2_000;

/**
 * The database of one service: tenant-scoped executor, worker login, migrations, health check and partition maintenance.
 * The start is refused when row-level security does not apply to a login, or when migrations are missing and
 * MIGRATIONS_DATABASE_URL is not set.
 */
@Module({})
export class PersistenceModule implements OnApplicationShutdown {
  constructor(
    @Inject(Databases) private readonly databases: Databases,
    @Inject(HealthRegistry) health: HealthRegistry,
    @Inject(MetricsRegistry) metrics: MetricsRegistry,
  ) {
    observePools(metrics, databases);
    health.register('database', async () => {
      await Promise.all([ping(databases.servicePool), ping(databases.workerPool)]);
    });
  }

  static forRoot(options: PersistenceOptions): DynamicModule {
    return {
      module: PersistenceModule,
      global: true,
      providers: [
        { provide: Databases, useFactory: () => openDatabases(options) },
        TenantDatabase,
        WorkerDatabase,
        MaintainPartitionsJob,
      ],
      exports: [TenantDatabase, WorkerDatabase, MaintainPartitionsJob],
    };
  }

  /** Closes the pools in the last shutdown hook, so that earlier hooks can still use the database. */
  async onApplicationShutdown(): Promise<void> {
    await this.databases.close();
  }
}

/** @throws Error  when the server does not reply in time or accepts no writes, as a standby after a failover */
async function ping(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    const query = { text: `SELECT current_setting('transaction_read_only') AS "readOnly"` };
    const { rows } = await client.query<{ readOnly: string }>(
      Object.assign(query, { query_timeout: HEALTH_TIMEOUT_MS }),
    );
    if (rows[0]?.readOnly !== 'off') throw new Error('The database is read-only');
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}
