import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { Databases, TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { migratedBy } from '@rmm/persistence/testing';
import { adminPool, startStores, type Stores } from '@rmm/testing-services';
import { ENTITIES } from '../src/entities.js';
import { MIGRATIONS } from '../src/migrations/index.js';
import { INDEX_SCANS_ONLY } from '../src/planner.constants.js';
import type { Organization } from './organizations.js';

export const SCHEMA = 'webhook_dispatcher';

/** The migrated schema of the dispatcher in a private PostgreSQL, with both logins, for specs of repositories. */
export class DispatcherTestDatabase {
  readonly tenants: TenantDatabase;
  readonly worker: WorkerDatabase;

  private constructor(
    private readonly stores: Stores,
    private readonly databases: Databases,
    /** Superuser on the schema, for preparation and assertions. */
    private readonly admin: pg.Pool,
  ) {
    this.tenants = new TenantDatabase(databases);
    this.worker = new WorkerDatabase(databases);
  }

  static async start(): Promise<DispatcherTestDatabase> {
    const stores = await startStores();
    const database = await stores.createDatabase([SCHEMA], migratedBy(SCHEMA, MIGRATIONS));
    const { owner, service, worker } = database.urls[SCHEMA];
    const config = {
      service: 'webhook-dispatcher' as const,
      databaseUrl: service,
      migrationsDatabaseUrl: owner,
      workerDatabaseUrl: worker,
      pools: { serviceMax: 4, workerMax: 4 },
    };
    const databases = await Databases.open({
      ...{ schema: SCHEMA, entities: ENTITIES, migrations: MIGRATIONS, config },
      workerSettings: INDEX_SCANS_ONLY,
    });
    return new DispatcherTestDatabase(stores, databases, adminPool(database, { options: `-c search_path=${SCHEMA}` }));
  }

  async stop(): Promise<void> {
    await this.admin.end();
    await this.databases.close();
    await this.stores.stop();
  }

  async rows<Row = Record<string, unknown>>(sql: string, params: unknown[] = []): Promise<Row[]> {
    const result = await this.admin.query(sql, params);
    return result.rows as Row[];
  }

  async organization(partnerId: string = randomUUID()): Promise<Organization> {
    const orgId = randomUUID();
    await this.rows(
      `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
       VALUES ($1, $2, 'Org', 'org', 'active', 1)`,
      [orgId, partnerId],
    );
    return { orgId, partnerId };
  }

  /** Inserts a webhook with its counter. @returns its id */
  async webhook({ orgId, partnerId }: Organization, status = 'active'): Promise<string> {
    const [row] = await this.rows<{ id: string }>(
      `WITH added AS (
         INSERT INTO webhook (partner_id, org_id, name, url_sealed, events, status)
         VALUES ($1, $2, 'Hook', 'sealed', '{device.*}', $3) RETURNING id, partner_id, org_id)
       INSERT INTO webhook_counter (webhook_id, partner_id, org_id) SELECT * FROM added RETURNING webhook_id AS id`,
      [partnerId, orgId, status],
    );
    return row?.id ?? '';
  }
}
