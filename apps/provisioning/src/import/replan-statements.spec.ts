import { randomUUID } from 'node:crypto';
import type { TenantTransaction } from '@rmm/persistence';
import { partnerCaller, ProvisioningTestDatabase, TEST_SECRETS } from '../../test/provisioning-test-database.js';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import type { GroupWrites } from './import-changes.js';
import { ImportRepository } from './import.repository.js';
import { replanStatements } from './replan-statements.js';

describe('replanStatements', () => {
  let database: ProvisioningTestDatabase;
  beforeAll(async () => (database = await ProvisioningTestDatabase.start()));
  afterAll(() => database?.stop());

  let organizations = 0;
  const buildGroups = (count: number, withLink = true) =>
    Array.from({ length: count }, (): GroupWrites => {
      const [id, name] = [randomUUID(), `customer-${(organizations += 1)}`];
      return {
        organizations: [{ id, name, nameKey: name, slug: name }],
        links: withLink ? [{ orgId: id, system: 'csv', externalId: name, moved: false }] : [],
        reactivated: [],
        newSites: [],
        sitePatches: [],
      };
    });
  /** Rows of organizations that index scans of the transaction have read until now. */
  const countReads = async (tx: TenantTransaction) => {
    const [row] = await tx.query<{ reads: number }>(
      `SELECT idx_tup_fetch::int AS reads FROM pg_stat_xact_user_tables WHERE relname = 'organization'`,
    );
    return row.reads;
  };

  it('has foreign keys checked by a read for each row, though the connection has plans for a small table', async () => {
    const partnerId = randomUUID();
    const repository = new ImportRepository(new OrganizationsRepository(database.tenants, TEST_SECRETS));
    const reads = await database.tenants.transaction(partnerCaller(partnerId), async (tx) => {
      const write = (groups: GroupWrites[]) => repository.write(tx, { partnerId, connectionId: null }, groups);
      await write(buildGroups(400)); // a small index of their like slugs is in the plans that the connection keeps
      await write(buildGroups(2_000, false));
      const groups = buildGroups(200);
      await replanStatements(tx, groups);
      const before = await countReads(tx);
      await write(groups);
      return (await countReads(tx)) - before;
    });
    expect(reads).toBeGreaterThanOrEqual(200);
    expect(reads).toBeLessThan(2_000);
  });

  it('leaves the plans of a transaction that writes few rows', async () => {
    const settings = await database.tenants.transaction(partnerCaller(randomUUID()), async (tx) => {
      await replanStatements(tx, [{}]);
      return tx.query('SHOW plan_cache_mode');
    });
    expect(settings).toEqual([{ plan_cache_mode: 'auto' }]);
  });
});
