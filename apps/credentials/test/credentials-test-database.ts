import { Test, type TestingModule } from '@nestjs/testing';
import { randomUUID } from 'node:crypto';
import { PersistenceModule, TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { migratedBy } from '@rmm/persistence/testing';
import { ServiceKitModule } from '@rmm/service-kit';
import { startStores, type Stores, type TestDatabase } from '@rmm/testing-services';
import { readCredentialsConfig } from '../src/config.js';
import { ENTITIES } from '../src/entities.js';
import { MIGRATIONS } from '../src/migrations/index.js';

/** The migrated schema of credentials in a private PostgreSQL, with both logins, for specs of repositories. */
export class CredentialsTestDatabase {
  readonly worker: WorkerDatabase;
  readonly tenants: TenantDatabase;

  private constructor(
    readonly stores: Stores,
    readonly database: TestDatabase<'credentials'>,
    private readonly module: TestingModule,
  ) {
    this.worker = module.get(WorkerDatabase);
    this.tenants = module.get(TenantDatabase);
  }

  static async start(): Promise<CredentialsTestDatabase> {
    const stores = await startStores();
    const database = await stores.createDatabase(['credentials'], migratedBy('credentials', MIGRATIONS));
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
    const module = await Test.createTestingModule({
      imports: [
        ServiceKitModule.forRoot(config, 'credentials'),
        PersistenceModule.forRoot({ config, schema: 'credentials', entities: ENTITIES, migrations: MIGRATIONS }),
      ],
    }).compile();
    await module.init();
    return new CredentialsTestDatabase(stores, database, module);
  }

  /** Stores an organization in the directory. @returns its id */
  async createOrganization(
    partnerId: string,
    { orgId = randomUUID(), status = 'active' }: { orgId?: string; status?: string } = {},
  ): Promise<string> {
    await this.worker.query(
      `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
       VALUES (:orgId, :partnerId, 'Acme', :orgId::uuid::text, :status, 1)`,
      { orgId, partnerId, status },
    );
    return orgId;
  }

  async stop(): Promise<void> {
    await this.module.close();
    await this.stores.stop();
  }
}
