import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { Databases, TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { migratedBy } from '@rmm/persistence/testing';
import { adminPool, startStores, type Stores } from '@rmm/testing-services';
import { ENTITIES } from '../src/entities.js';
import { MIGRATIONS } from '../src/migrations/index.js';

/** The migrated schema of identity in a private PostgreSQL, with both logins, for specs of repositories. */
export class IdentityTestDatabase {
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

  static async start(): Promise<IdentityTestDatabase> {
    const stores = await startStores();
    const database = await stores.createDatabase(['identity'], migratedBy('identity', MIGRATIONS));
    const { owner, service, worker } = database.urls.identity;
    const config = {
      service: 'identity' as const,
      databaseUrl: service,
      migrationsDatabaseUrl: owner,
      workerDatabaseUrl: worker,
      pools: { serviceMax: 4, workerMax: 4 },
    };
    const databases = await Databases.open({ schema: 'identity', entities: ENTITIES, migrations: MIGRATIONS, config });
    return new IdentityTestDatabase(stores, databases, adminPool(database, { options: '-c search_path=identity' }));
  }

  async stop(): Promise<void> {
    await this.admin.end();
    await this.databases.close();
    await this.stores.stop();
  }

  /** Runs SQL as superuser, to arrange and inspect rows. */
  async query<Row extends object>(sql: string, params: unknown[] = []): Promise<Row[]> {
    return (await this.admin.query<Row>(sql, params)).rows;
  }

  /** Inserts a row and returns its `id`. */
  async insert(table: string, values: Record<string, unknown>): Promise<string> {
    const names = Object.keys(values);
    const placeholders = names.map((_, index) => `$${index + 1}`);
    const [row] = await this.query<{ id: string }>(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${placeholders.join(', ')}) RETURNING id`,
      Object.values(values),
    );
    if (!row) throw new Error(`no row was inserted into ${table}`);
    return row.id;
  }

  createPartner(values: { status?: string } = {}): Promise<string> {
    return this.insert('partner', { name: 'Acme MSP', slug: `acme-${randomUUID()}`, ...values });
  }

  async createOrganization(partnerId: string, values: { status?: string; deleted?: boolean } = {}): Promise<string> {
    const [orgId, { status = 'active', deleted = false }] = [randomUUID(), values];
    await this.query(
      `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, deleted, version)
       VALUES ($1::uuid, $2, 'Customer', $1::uuid::text, $3, $4, 1)`,
      [orgId, partnerId, status, deleted],
    );
    return orgId;
  }

  createUser(values: Record<string, unknown> = {}): Promise<string> {
    return this.insert('user_account', {
      email: `robin-${randomUUID()}@users.test`,
      name: 'Robin Vale',
      status: 'active',
      ...values,
    });
  }

  /** Inserts a role of an organization. */
  createRole(partnerId: string, orgId: string, name = 'Staff'): Promise<string> {
    return this.insert('role', { partner_id: partnerId, org_id: orgId, scope: 'organization', name });
  }

  /** Inserts an OpenID Connect provider of an organization, or with `orgId` null of the partner; active by default. */
  createProvider(partnerId: string, orgId: string | null, values: Record<string, unknown> = {}): Promise<string> {
    const owner = { partner_id: partnerId, org_id: orgId };
    return this.insert('sso_provider', {
      ...{ id: randomUUID(), ...owner, name: 'Entra', type: 'oidc', status: 'active' },
      ...values,
    });
  }

  /** Inserts a session; it lasts a day unless the values say so. */
  createSession(userId: string, values: Record<string, unknown> = {}): Promise<string> {
    return this.insert('session_family', {
      ...{ id: randomUUID(), user_id: userId, scope: 'organization', mfa: false, method: 'sso' },
      ...{ auth_epoch: 1, mfa_epoch: 1, absolute_expires_at: new Date(Date.now() + 86_400_000) },
      ...values,
    });
  }
}
