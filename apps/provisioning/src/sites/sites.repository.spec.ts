import { randomUUID } from 'node:crypto';
import { NotFoundError } from '@rmm/service-kit';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
  TEST_SECRETS,
} from '../../test/provisioning-test-database.js';
import { SitesRepository } from './sites.repository.js';

describe('SitesRepository', () => {
  let database: ProvisioningTestDatabase;
  let sites: SitesRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    sites = new SitesRepository(database.tenants, TEST_SECRETS);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });

  const names = async (
    caller: ReturnType<typeof partnerCaller>,
    filter: { siteIds?: string[]; search?: string } = {},
  ) => (await sites.list(caller, { siteIds: null, ...filter }, { page: 1, limit: 10 })).rows.map(({ name }) => name);

  it('lists the sites of the tenant, restricted to the given ids', async () => {
    const older = `UPDATE site SET created_at = created_at - interval '1 s' WHERE partner_id = $1`;
    const main = await database.createSite(partnerId, orgId, 'Main');
    await database.admin.query(older, [partnerId]);
    await database.createSite(partnerId, orgId, 'Branch');
    await database.admin.query(older, [partnerId]);
    const other = await database.createOrganization(partnerId);
    await database.createSite(partnerId, other, 'Other');
    expect(await names(partnerCaller(partnerId))).toEqual(['Other', 'Branch', 'Main']);
    expect(await names(organizationCaller(partnerId, orgId))).toEqual(['Branch', 'Main']);
    expect(await names(partnerCaller(partnerId), { siteIds: [main] })).toEqual(['Main']);
    expect(await names(partnerCaller(partnerId), { siteIds: [] })).toEqual([]);
    expect(await names(partnerCaller(partnerId), { search: 'ranc' })).toEqual(['Branch']);
    expect(await names(partnerCaller(randomUUID()))).toEqual([]);
  });

  it('cuts a page of sites with the largest settings at about 1 MB', async () => {
    for (let n = 0; n < 20; n += 1) await database.createSite(partnerId, orgId, `Large ${n}`);
    await database.admin.query(
      `UPDATE site SET settings = jsonb_build_object('text', repeat('x', 65000)) WHERE org_id = $1`,
      [orgId],
    );
    const page = await sites.list(partnerCaller(partnerId), { siteIds: null }, { page: 1, limit: 100 });
    expect(page.pagination).toEqual({ page: 1, limit: 100, total: 20, truncated: true });
    expect(Buffer.byteLength(JSON.stringify(page.rows))).toBeLessThan(1_100_000);
  });

  it('hides the sites of an inactive organization', async () => {
    const id = await database.createSite(partnerId, orgId);
    await database.admin.query(`UPDATE organization SET status = 'suspended' WHERE id = $1`, [orgId]);
    await expect(sites.get(partnerCaller(partnerId), id)).rejects.toThrow(NotFoundError);
    expect(await names(partnerCaller(partnerId))).toEqual([]);
  });

  it('returns live sites to other services', async () => {
    const [live, deleted] = [
      await database.createSite(partnerId, orgId, 'Live'),
      await database.createSite(partnerId, orgId, 'Deleted'),
    ];
    await database.admin.query('UPDATE site SET deleted_at = now() WHERE id = $1', [deleted]);
    const caller = partnerCaller(partnerId);
    expect(await sites.listLiveIds(caller, orgId, [live, deleted, randomUUID()])).toEqual([live]);
    expect(await sites.findLive(caller, orgId, live)).toMatchObject({ id: live, partnerId, version: '1' });
    expect(await sites.findLive(caller, orgId, deleted)).toBeNull();
    expect(await sites.findLive(caller, randomUUID(), live)).toBeNull();
  });

  it('creates a site with defaults', async () => {
    const site = await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      sites.create(tx, { partnerId, orgId, name: 'New  Site', timezone: 'UTC' }),
    );
    expect(site).toMatchObject({ nameKey: 'new site', version: '1', settings: {}, address: null, deletedAt: null });
    expect(site.createdAt).toBeInstanceOf(Date);
  });
});
