import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { UserCaller } from '@rmm/access';
import { Databases, TenantDatabase, WorkerDatabase, type TenantContext } from '@rmm/persistence';
import { migratedBy } from '@rmm/persistence/testing';
import { adminPool, startStores, type Stores } from '@rmm/testing-services';
import { ENTITIES } from '../src/entities.js';
import { MIGRATIONS } from '../src/migrations/index.js';
import { insertDevice } from './device-rows.js';

/** The migrated schema of provisioning in a private PostgreSQL, with both logins, for specs of repositories. */
export class ProvisioningTestDatabase {
  readonly tenants: TenantDatabase;
  readonly worker: WorkerDatabase;

  private constructor(
    private readonly stores: Stores,
    private readonly databases: Databases,
    /** Superuser on the schema, for preparation and assertions. */
    readonly admin: pg.Pool,
  ) {
    this.tenants = new TenantDatabase(databases);
    this.worker = new WorkerDatabase(databases);
  }

  static async start(): Promise<ProvisioningTestDatabase> {
    const stores = await startStores();
    const database = await stores.createDatabase(['provisioning'], migratedBy('provisioning', MIGRATIONS));
    const { owner, service, worker } = database.urls.provisioning;
    const config = {
      service: 'provisioning' as const,
      databaseUrl: service,
      migrationsDatabaseUrl: owner,
      workerDatabaseUrl: worker,
      pools: { serviceMax: 3, workerMax: 2 },
    };
    const databases = await Databases.open({
      schema: 'provisioning',
      entities: ENTITIES,
      migrations: MIGRATIONS,
      config,
    });
    const admin = adminPool(database, { options: '-c search_path=provisioning' });
    return new ProvisioningTestDatabase(stores, databases, admin);
  }

  async stop(): Promise<void> {
    await this.admin.end();
    await this.databases.close();
    await this.stores.stop();
  }

  /** Gives an organization without a slug one that never reads as a numbered `acme`, as eight digits would. */
  async createOrganization(partnerId: string, values: { name?: string; slug?: string; status?: string } = {}) {
    const { name = 'Acme', slug = `acme-x${randomUUID().slice(0, 8)}`, status = 'active' } = values;
    return this.insert('organization', { partner_id: partnerId, name, name_key: name.toLowerCase(), slug, status });
  }

  async createSite(partnerId: string, orgId: string, name = 'Main Office') {
    return this.insert('site', { partner_id: partnerId, org_id: orgId, name, name_key: name.toLowerCase() });
  }

  async createDevice(partnerId: string, orgId: string, values: Record<string, unknown> = {}) {
    return insertDevice(this.admin, { ...values, partner_id: partnerId, org_id: orgId });
  }

  /** Returns the id of the inserted row. */
  private async insert(table: string, values: Record<string, unknown>): Promise<string> {
    const names = Object.keys(values);
    const placeholders = names.map((_, index) => `$${index + 1}`);
    const { rows } = await this.admin.query<{ id: string }>(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${placeholders.join(', ')}) RETURNING id`,
      Object.values(values),
    );
    return rows[0].id;
  }
}

/** Returns a caller that may access the whole partner. */
export const partnerCaller = (partnerId: string): UserCaller => callerOf({ scope: 'partner', partnerId });

/** Returns a caller of one organization. */
export const organizationCaller = (partnerId: string, orgId: string): UserCaller =>
  callerOf({ scope: 'organization', partnerId, orgId });

function callerOf(tenant: Partial<TenantContext>): UserCaller {
  const context = { orgId: null, orgAccess: 'all', orgIds: [], userId: randomUUID(), ...tenant };
  return { tenant: context } as unknown as UserCaller;
}

/** A key ring for repositories that sign cursors. */
export const TEST_SECRETS = { secrets: { keyRing: { keys: { spec: Buffer.alloc(32, 7) }, activeKid: 'spec' } } };
