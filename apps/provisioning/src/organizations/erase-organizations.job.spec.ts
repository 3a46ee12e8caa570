import { randomUUID } from 'node:crypto';
import type { Outbox, OutgoingMessage } from '@rmm/messaging';
import { AuditTrail } from '@rmm/messaging';
import { NotFoundError } from '@rmm/service-kit';
import { partnerCaller, ProvisioningTestDatabase, TEST_SECRETS } from '../../test/provisioning-test-database.js';
import { EraseOrganizationsJob } from './erase-organizations.job.js';
import { OrganizationErasureRepository } from './organization-erasure.repository.js';
import { OrganizationsRepository } from './organizations.repository.js';

const TABLES = [
  'device',
  'device_state',
  'device_hardware',
  'device_group',
  'device_group_member',
  'site',
  'external_link',
];

describe('EraseOrganizationsJob', () => {
  let database: ProvisioningTestDatabase;
  let published: OutgoingMessage[];
  let partnerId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
  }, 60_000);
  afterAll(() => database?.stop());
  beforeEach(() => {
    published = [];
    partnerId = randomUUID();
  });

  /** A process with the job; `failsAfter` batches it ends. */
  function startJob(failsAfter = Infinity): EraseOrganizationsJob {
    const publish = (_: unknown, messages: OutgoingMessage | OutgoingMessage[]) => {
      published.push(...[messages].flat());
      return Promise.resolve();
    };
    const outbox = { publish } as unknown as Outbox;
    const erasures = new OrganizationErasureRepository(database.worker);
    let batches = 0;
    const eraseBatch = erasures.eraseBatch.bind(erasures);
    erasures.eraseBatch = async (...given) => {
      const found = await eraseBatch(given[0], given[1], 2);
      if ((batches += 1) > failsAfter) throw new Error('killed');
      return found;
    };
    return new EraseOrganizationsJob(erasures, outbox, new AuditTrail(outbox, database.worker));
  }

  async function createCustomer(deletedDaysAgo: number | null): Promise<string> {
    const orgId = await database.createOrganization(partnerId, { name: 'Secret Customer' });
    const siteId = await database.createSite(partnerId, orgId);
    const { rows } = await database.admin.query(
      `INSERT INTO device_group (partner_id, org_id, name, name_key) VALUES ($1, $2, 'G', 'g') RETURNING id`,
      [partnerId, orgId],
    );
    for (let n = 0; n < 5; n += 1) {
      const deviceId = await database.createDevice(partnerId, orgId, { site_id: siteId, hardware: {} });
      await database.admin.query(
        'INSERT INTO device_group_member (group_id, device_id, partner_id, org_id) VALUES ($1, $2, $3, $4)',
        [rows[0].id, deviceId, partnerId, orgId],
      );
    }
    await database.admin.query(
      `INSERT INTO external_link (partner_id, org_id, system, external_id) VALUES ($1, $2, 'csv', $3)`,
      [partnerId, orgId, randomUUID()],
    );
    if (deletedDaysAgo !== null) {
      await database.admin.query(
        `UPDATE organization SET deleted_at = now() - make_interval(days => $2), settings = '{"a": 1}' WHERE id = $1`,
        [orgId, deletedDaysAgo],
      );
    }
    return orgId;
  }
  const countRows = async (orgId: string) => {
    const counts: Record<string, number> = {};
    for (const table of TABLES) {
      const { rows } = await database.admin.query(`SELECT count(*)::int AS n FROM ${table} WHERE org_id = $1`, [orgId]);
      counts[table] = rows[0].n;
    }
    return counts;
  };
  const nothing = Object.fromEntries(TABLES.map((table) => [table, 0]));

  it('erases what was deleted more than 30 days ago and nothing else', async () => {
    const [due, recent, live] = [await createCustomer(31), await createCustomer(29), await createCustomer(null)];
    const kept = [await countRows(recent), await countRows(live)];
    await startJob().run();
    expect(await countRows(due)).toEqual(nothing);
    expect([await countRows(recent), await countRows(live)]).toEqual(kept);
    const { rows } = await database.admin.query('SELECT * FROM organization WHERE id = $1', [due]);
    expect(rows[0]).toMatchObject({ name: 'Erased organization', slug: due, settings: {}, billing_contact: null });
    expect((await database.admin.query('SELECT * FROM organization_erasure')).rows).toEqual([]);
  });

  it('publishes the tombstone and audits the numbers, without the name', async () => {
    const orgId = await createCustomer(31);
    await startJob().run();
    const own = published.filter((message) => message.orgId === orgId);
    expect(own.map(({ type }) => type)).toEqual(['organization.updated', 'organization.erase']);
    expect(own[0]?.data).toMatchObject({ name: 'Erased organization', deleted: true, version: 2 });
    expect(own[1]?.data).toMatchObject({ details: { device: 5, device_group: 1, site: 1 } });
    expect(JSON.stringify(own)).not.toContain('Secret Customer');
  });

  it('continues where a killed process stopped', async () => {
    const orgId = await createCustomer(31);
    await expect(startJob(1).run()).rejects.toThrow('killed');
    expect((await countRows(orgId)).device).toBe(3);
    await startJob().run();
    expect(await countRows(orgId)).toEqual(nothing);
    const entry = published.find(({ type, orgId: of }) => type === 'organization.erase' && of === orgId);
    expect(entry?.data).toMatchObject({ details: { device: 5 } });
  });

  it('erases each organization once under two replicas', async () => {
    const orgIds = await Promise.all([createCustomer(31), createCustomer(31), createCustomer(31)]);
    await Promise.all([startJob().run(), startJob().run()]);
    await startJob().run();
    for (const orgId of orgIds) {
      expect(await countRows(orgId)).toEqual(nothing);
      expect(published.filter(({ type, orgId: of }) => type === 'organization.erase' && of === orgId)).toHaveLength(1);
    }
  });

  it('leaves an organization that is restored first, and cannot be undone once it began', async () => {
    const organizations = new OrganizationsRepository(database.tenants, TEST_SECRETS);
    const caller = partnerCaller(partnerId);
    const orgId = await createCustomer(31);
    await database.tenants.transaction(caller, async (tx) => {
      await organizations.restore(tx, orgId, 'restored');
      await startJob().run();
    });
    expect((await countRows(orgId)).device).toBe(5);
    const erased = await createCustomer(31);
    await startJob().run();
    const restored = database.tenants.transaction(caller, (tx) => organizations.restore(tx, erased, 'again'));
    await expect(restored).rejects.toThrow(NotFoundError);
  });
});
