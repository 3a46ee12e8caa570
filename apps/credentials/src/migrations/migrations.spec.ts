import { randomUUID } from 'node:crypto';
import { revertMigrations, runMigrations } from '@rmm/persistence';
import { countVisibleRows, entityProblems, rowSecurityProblems, untiedTenantTables } from '@rmm/persistence/testing';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { ENTITIES } from '../entities.js';
import { MIGRATIONS } from './index.js';

describe('migrations of credentials', () => {
  let opened: CredentialsTestDatabase;
  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
  });
  afterAll(() => opened.stop());

  const target = () => {
    const { owner, service, worker } = opened.database.urls.credentials;
    return {
      schema: 'credentials',
      migrationsDatabaseUrl: owner,
      databaseUrl: service,
      workerDatabaseUrl: worker,
      migrations: MIGRATIONS,
    };
  };

  it('create row-level security, policies and grants on every table', async () => {
    expect(await rowSecurityProblems(opened.worker, 'credentials')).toEqual([]);
  });

  it('create the tables and columns that the entities declare', async () => {
    // read by libs/access alone
    const exempt = ['organization_erasure'];
    expect(await entityProblems(opened.worker, 'credentials', ENTITIES, exempt)).toEqual([]);
  });

  it('show the service login no tenant in system scope, which is of the platform login', async () => {
    await opened.createOrganization(randomUUID());
    const { service, worker } = opened.database.urls.credentials;
    const system = { 'rmm.scope': 'system', 'rmm.org_access': 'all' } as const;
    expect(await countVisibleRows(service, 'credentials', 'organization_directory', system)).toBe(0);
    const platform = { ...system, role: new URL(service).username };
    expect(await countVisibleRows(worker, 'credentials', 'organization_directory', platform)).toBeGreaterThan(0);
  });

  it('tie the organization of every row to its partner by a key', async () => {
    expect(await untiedTenantTables(opened.worker, 'credentials')).toEqual([]);
  });

  it.each([
    ['api_key', `name, key_prefix, key_hash, scopes, rate_limit`, `'k', 'svc_', '\\x00', '{}', 1`],
    ['enrollment_key', 'name, key_hash, expires_at', `'k', '\\x00', now()`],
    ['service_principal', 'name, scopes', `'p', '{}'`],
  ])('refuse a row of %s whose partner does not own its organization', async (table, columns, values) => {
    const [partnerId, otherId] = [randomUUID(), randomUUID()];
    const orgId = await opened.createOrganization(otherId);
    const insert = opened.tenants.transaction(buildPartnerCaller(partnerId), (tx) =>
      tx.query(`INSERT INTO ${table} (partner_id, org_id, ${columns}) VALUES (:partnerId, :orgId, ${values})`, {
        partnerId,
        orgId,
      }),
    );
    await expect(insert).rejects.toMatchObject({ code: '23503' });
  });

  it('can be reverted and run again', async () => {
    await opened.worker.query(
      `INSERT INTO partner_directory (partner_id, name, status, version) VALUES (gen_random_uuid(), 'P', 'active', 1)`,
    );
    await revertMigrations(target(), MIGRATIONS.length);
    expect(await runMigrations(target())).toEqual(MIGRATIONS.map((migration) => migration.name));
    expect(await rowSecurityProblems(opened.worker, 'credentials')).toEqual([]);
    expect(await opened.worker.query('SELECT * FROM partner_directory')).toEqual([]);
  });
});
