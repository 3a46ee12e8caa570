import type { MigrationInterface } from 'typeorm';
import { Databases, WorkerDatabase } from '@rmm/persistence';
import { startStores, type Stores } from '@rmm/testing-services';
import { AddAccess1767225600000 } from './access-test-cluster.js';

/** The tables of access in a private PostgreSQL, under the worker login, for specs of repositories. */
export class AccessTestDatabase {
  readonly worker: WorkerDatabase;

  private constructor(
    private readonly stores: Stores,
    private readonly databases: Databases,
  ) {
    this.worker = new WorkerDatabase(databases);
  }

  /** @param migrations  for tables that the migrations of services create */
  static async start(migrations: (new () => MigrationInterface)[] = []): Promise<AccessTestDatabase> {
    const stores = await startStores();
    const database = await stores.createDatabase(['credentials']);
    const { owner, service, worker } = database.urls.credentials;
    const databases = await Databases.open({
      schema: 'credentials',
      entities: [],
      migrations: [AddAccess1767225600000, ...migrations],
      config: {
        service: 'credentials',
        databaseUrl: service,
        migrationsDatabaseUrl: owner,
        workerDatabaseUrl: worker,
        pools: { serviceMax: 1, workerMax: 3 },
      },
    });
    return new AccessTestDatabase(stores, databases);
  }

  async stop(): Promise<void> {
    await this.databases.close();
    await this.stores.stop();
  }
}
