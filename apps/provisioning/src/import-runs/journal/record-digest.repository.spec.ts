import { randomUUID } from 'node:crypto';
import { ProvisioningTestDatabase } from '../../../test/provisioning-test-database.js';
import { contactDigest, organizationDigest, siteDigest } from './record-digest.repository.js';

const DIGESTS = {
  organization: organizationDigest('r'),
  site: siteDigest('r'),
  contact: contactDigest('r'),
};
type Table = keyof typeof DIGESTS;

describe('digests of records', () => {
  let database: ProvisioningTestDatabase;
  const ids = {} as Record<Table, string>;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    const partnerId = randomUUID();
    const orgId = (ids.organization = await database.createOrganization(partnerId));
    ids.site = await database.createSite(partnerId, orgId);
    const { rows } = await database.admin.query<{ id: string }>(
      `INSERT INTO contact (partner_id, org_id, name, name_key) VALUES ($1, $2, 'Ann', 'ann') RETURNING id`,
      [partnerId, orgId],
    );
    ids.contact = rows[0]?.id ?? '';
  });
  afterAll(() => database?.stop());

  async function digestOf(table: Table): Promise<string> {
    const sql = `SELECT ${DIGESTS[table]} AS digest FROM ${table} r WHERE r.id = $1`;
    return (await database.admin.query<{ digest: string }>(sql, [ids[table]])).rows[0].digest;
  }
  async function update(table: Table, column: string, value: string): Promise<void> {
    await database.admin.query(`UPDATE ${table} SET ${column} = ${value} WHERE id = $1`, [ids[table]]);
  }

  it.each<[Table, string, string]>([
    ['organization', 'name', `'Beta'`],
    ['organization', 'slug', `'beta'`],
    ['organization', 'type', `'internal'`],
    ['organization', 'status', `'suspended'`],
    ['organization', 'settings', `'{"a": 1}'`],
    ['organization', 'contract_start', `'2026-01-01'`],
    ['organization', 'contract_end', `'2026-01-01'`],
    ['organization', 'billing_contact', `'{"name": "Ann"}'`],
    ['organization', 'deleted_at', 'now()'],
    ['site', 'name', `'North'`],
    ['site', 'timezone', `'Europe/Rome'`],
    ['site', 'address', `'{"city": "Rome"}'`],
    ['site', 'contact', `'{"name": "Ann"}'`],
    ['site', 'settings', `'{"a": 1}'`],
    ['contact', 'name', `'Bob'`],
    ['contact', 'email', `'ann@x.example'`],
    ['contact', 'phone', `'1'`],
    ['contact', 'mobile', `'1'`],
    ['contact', 'title', `'Dr'`],
    ['contact', 'roles', `'{billing}'`],
    ['contact', 'is_primary', 'true'],
    ['contact', 'notes', `'x'`],
  ])('the digest of %s changes with %s and is the former one when it is restored', async (table, column, value) => {
    const select = `SELECT ${column} AS former FROM ${table} WHERE id = $1`;
    const { former } = (await database.admin.query<{ former: unknown }>(select, [ids[table]])).rows[0];
    const before = await digestOf(table);
    await update(table, column, value);
    expect(await digestOf(table)).not.toBe(before);
    await database.admin.query(`UPDATE ${table} SET ${column} = $2 WHERE id = $1`, [ids[table], former]);
    expect(await digestOf(table)).toBe(before);
  });

  it.each<Table>(['organization', 'site'])('the digest of %s does not depend on its version', async (table) => {
    const before = await digestOf(table);
    await update(table, 'version', 'version + 1');
    expect(await digestOf(table)).toBe(before);
  });

  it('does not depend on the time zone of the session', async () => {
    const client = await database.admin.connect();
    try {
      const digests = new Set<string>();
      await update('organization', 'contract_start', `'2026-01-01'`);
      for (const zone of ['UTC', 'Asia/Tokyo']) {
        await client.query(`SET timezone = '${zone}'`);
        const sql = `SELECT ${DIGESTS.organization} AS digest FROM organization r WHERE r.id = $1`;
        digests.add((await client.query<{ digest: string }>(sql, [ids.organization])).rows[0].digest);
      }
      expect(digests.size).toBe(1);
    } finally {
      await client.query('RESET timezone');
      client.release();
    }
  });
});
