import { Test, type TestingModule } from '@nestjs/testing';
import { randomUUID } from 'node:crypto';
import { PersistenceModule, TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { migratedBy } from '@rmm/persistence/testing';
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
  /** Stores an organization in the directory. @returns its id */
  createOrganization(partnerId: string, values?: { orgId?: string; status?: string }): Promise<string>;
  close(): Promise<void>;
}

/** Opens a migrated database of the service for repository specs. */
export async function openCredentialsDatabase(): Promise<CredentialsDatabase> {
  const stores = await startStores();
  const database = await stores.createDatabase(['credentials'], migratedBy('credentials', MIGRATIONS));
  const { owner, service, worker: workerUrl } = database.urls.credentials;
  const config = readCredentialsConfig({
    NODE_ENV: 'test',
    LOG_LEVEL: 'error',
    DATABASE_URL: service,
    WORKER_DATABASE_URL: workerUrl,
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
  const worker = module.get(WorkerDatabase);
  return {
    stores,
    database,
    worker,
    createOrganization: async (partnerId, { orgId = randomUUID(), status = 'active' } = {}) => {
      await worker.query(
        `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
         VALUES (:orgId, :partnerId, 'Acme', :orgId::uuid::text, :status, 1)`,
        { orgId, partnerId, status },
      );
      return orgId;
    },
    tenants: module.get(TenantDatabase),
    close: async () => {
      await module.close();
      await stores.stop();
    },
  };
}
