import { Test, type TestingModule } from '@nestjs/testing';
import { PersistenceModule, TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { ServiceKitModule } from '@rmm/service-kit';
import { startStores, type Stores, type TestDatabase } from '@rmm/testing-services';
import { readCredentialsConfig } from '../src/config.js';
import { ENTITIES } from '../src/entities.js';
import { MIGRATIONS } from '../src/migrations/index.js';

export interface CredentialsDatabase {
  stores: Stores;
  database: TestDatabase<'credentials'>;
  worker: WorkerDatabase;
  tenants: TenantDatabase;
  close(): Promise<void>;
}

/** Opens a migrated database of the service for repository specs. */
export async function openCredentialsDatabase(): Promise<CredentialsDatabase> {
  const stores = await startStores();
  const database = await stores.createDatabase(['credentials']);
  const { owner, service, worker } = database.urls.credentials;
  const config = readCredentialsConfig({
    NODE_ENV: 'test',
    LOG_LEVEL: 'error',
    DATABASE_URL: service,
    WORKER_DATABASE_URL: worker,
    MIGRATIONS_DATABASE_URL: owner,
    REDIS_URL: stores.redisUrl,
    NATS_URL: 'nats://127.0.0.1:4222',
    JWKS_URL: 'http://127.0.0.1:4001/jwks.json',
  });
  const module: TestingModule = await Test.createTestingModule({
    imports: [
      ServiceKitModule.forRoot(config, 'credentials'),
      PersistenceModule.forRoot({ config, schema: 'credentials', entities: ENTITIES, migrations: MIGRATIONS }),
    ],
  }).compile();
  await module.init();
  return {
    stores,
    database,
    worker: module.get(WorkerDatabase),
    tenants: module.get(TenantDatabase),
    close: async () => {
      await module.close();
      await stores.stop();
    },
  };
}
