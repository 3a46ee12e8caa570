import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { Column, CreateDateColumn, Entity, type MigrationInterface, PrimaryColumn, type QueryRunner } from 'typeorm';
import { type TcpProxy, startStores, type Stores, type TestDatabase } from '@rmm/testing-services';
import type { MigrationTarget } from '../src/migrations/migrations-runner.service.js';
import { Databases, type PersistenceOptions } from '../src/module/databases.service.js';
import { tenantTable } from '../src/rls/tenant-table.js';
import type { HasTenant, TenantContext } from '../src/tenants/tenant-context.js';
import { TenantDatabase } from '../src/tenants/tenant-database.service.js';
import { WorkerDatabase } from '../src/worker/worker-database.service.js';

export const SCHEMA = 'provisioning';

@Entity('device')
export class Device {
  @PrimaryColumn('uuid') id: string;
  @Column('uuid', { name: 'partner_id' }) partnerId: string;
  @Column('uuid', { name: 'org_id' }) orgId: string;
  @Column('text') name: string;
  @Column('text', { array: true }) tags: string[];
  @Column('bytea', { nullable: true, select: false }) secret: Buffer | null;
  @Column('date', { name: 'installed_on', nullable: true }) installedOn: string | null;
  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' }) createdAt: Date;
}

export class AddFleet1700000000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    const all = ['select', 'insert', 'update', 'delete'] as const;
    const owned = 'id uuid primary key, partner_id uuid not null, name text not null';
    await q.query(`create table device (${owned}, org_id uuid not null, tags text[] not null default '{}', secret bytea,
      installed_on date, created_at timestamptz not null default now(), unique (org_id, name))`);
    await tenantTable(q, { table: 'device', ownership: 'organization', service: all, worker: ['select'] });
    await q.query(`create table principal (${owned})`);
    await tenantTable(q, { table: 'principal', ownership: 'partner', service: all });
    await q.query(`create table script (${owned}, org_id uuid)`);
    await tenantTable(q, { table: 'script', ownership: 'dual', service: all });
    await q.query('create table factor (id uuid primary key, user_id uuid not null)');
    await tenantTable(q, { table: 'factor', ownership: 'user', service: all });
    await q.query('create table message (id uuid primary key, body text not null)');
    await tenantTable(q, { table: 'message', ownership: 'worker-only', service: ['insert'], worker: all });
    await q.query(`create table idempotency_record (id text primary key, partner_id uuid, org_id uuid,
      caller_id text not null, body_hash text not null, response text, created_at timestamptz not null default now(),
      expires_at timestamptz not null, response_expires_at timestamptz)`);
    await tenantTable(q, {
      table: 'idempotency_record',
      ownership: 'dual',
      service: all,
      worker: ['select', 'update', 'delete'],
    });
    await q.query('create table vendor (name text primary key)');
    await tenantTable(q, { table: 'vendor', ownership: 'global', service: ['select'], worker: all });
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('drop table device, principal, script, factor, message, idempotency_record, vendor');
  }
}

export const partnerA = randomUUID();
export const partnerB = randomUUID();
export const orgA1 = randomUUID();
export const orgA2 = randomUUID();
export const orgB1 = randomUUID();

const NO_TENANT: TenantContext = {
  scope: 'none',
  partnerId: null,
  orgId: null,
  orgAccess: 'none',
  orgIds: [],
  userId: null,
};

export const as = (context: Partial<TenantContext>): HasTenant => ({ tenant: { ...NO_TENANT, ...context } });
export const noTenant = as({});
export const platform = as({ scope: 'system' });
export const partner = (partnerId: string) => as({ scope: 'partner', partnerId, orgAccess: 'all' });
export const selected = (partnerId: string, orgIds: string[]) =>
  as({ scope: 'partner', partnerId, orgAccess: 'selected', orgIds });
export const organization = (partnerId: string, orgId: string) =>
  as({ scope: 'organization', partnerId, orgId, orgAccess: 'all' });

/**
 * A migrated database with one device in each of three organizations, and both executors. Both runtime logins go through
 * the gate.
 */
export class PersistenceTestDatabase {
  readonly tenants: TenantDatabase;
  readonly worker: WorkerDatabase;

  private constructor(
    readonly stores: Stores,
    readonly database: TestDatabase<typeof SCHEMA>,
    readonly gate: TcpProxy,
    readonly databases: Databases,
  ) {
    this.tenants = new TenantDatabase(databases);
    this.worker = new WorkerDatabase(databases);
  }

  static async start(
    pools = { serviceMax: 3, workerMax: 2 },
    timeouts?: PersistenceOptions['timeouts'],
  ): Promise<PersistenceTestDatabase> {
    const stores = await startStores();
    const database = await stores.createDatabase([SCHEMA]);
    const gate = await stores.gate(database.adminUrl);
    const options = { ...optionsFor(database, { pools }), timeouts };
    options.config.databaseUrl = through(gate, options.config.databaseUrl);
    options.config.workerDatabaseUrl = through(gate, options.config.workerDatabaseUrl);
    const started = new PersistenceTestDatabase(stores, database, gate, await Databases.open(options));
    await started.admin(
      `insert into ${SCHEMA}.device (id, partner_id, org_id, name)
       values (gen_random_uuid(), $1, $3, 'a1'), (gen_random_uuid(), $1, $4, 'a2'), (gen_random_uuid(), $2, $5, 'b1')`,
      [partnerA, partnerB, orgA1, orgA2, orgB1],
    );
    return started;
  }

  /** Runs a statement as superuser. */
  admin(sql: string, params?: unknown[]): Promise<Record<string, unknown>[]> {
    return query(this.database.adminUrl, sql, params);
  }

  async stop(): Promise<void> {
    await this.gate.open();
    await this.databases.close();
    await this.stores.stop();
  }
}

export function optionsFor(
  database: TestDatabase<typeof SCHEMA>,
  config: Partial<PersistenceOptions['config']> = {},
): PersistenceOptions {
  const { owner, service, worker } = database.urls[SCHEMA];
  return {
    schema: SCHEMA,
    entities: [Device],
    migrations: [AddFleet1700000000000],
    config: {
      service: 'provisioning',
      databaseUrl: service,
      migrationsDatabaseUrl: owner,
      workerDatabaseUrl: worker,
      pools: { serviceMax: 3, workerMax: 2 },
      ...config,
    },
  };
}

export function targetFor(
  database: TestDatabase<typeof SCHEMA>,
  migrations: MigrationTarget['migrations'],
): MigrationTarget {
  const { owner, service, worker } = database.urls[SCHEMA];
  return { schema: SCHEMA, migrationsDatabaseUrl: owner, databaseUrl: service, workerDatabaseUrl: worker, migrations };
}

function through(gate: TcpProxy, url: string): string {
  const moved = new URL(url);
  moved.port = new URL(gate.url).port;
  return moved.href;
}

export async function query(
  connectionString: string,
  sql: string,
  params?: unknown[],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql, params)).rows;
  } finally {
    await client.end();
  }
}
