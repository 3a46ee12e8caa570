import { randomUUID } from 'node:crypto';
import {
  PROVISIONING_ORGANIZATIONS_ENSURE_FIRST,
  PROVISIONING_ORGANIZATIONS_GET,
  PROVISIONING_ORGANIZATIONS_LIST_SINCE,
  type OrganizationState,
} from '@rmm/contracts';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

let testApp: ProvisioningTestApp;
beforeAll(async () => {
  testApp = await ProvisioningTestApp.start();
});
afterAll(() => testApp?.stop());

const partnerRow = async (id: string) =>
  (await testApp.admin.query('select * from partner_directory where partner_id = $1', [id])).rows[0];

describe('FirstOrganizationService', () => {
  it('stores the newest version of a partner in any order of events', async () => {
    const partnerId = await testApp.createPartner({ maxOrganizations: 5 });
    await testApp.publishPartner('partner.updated', partnerId, 3, { maxOrganizations: 9, status: 'suspended' });
    await testApp.publishPartner('partner.updated', partnerId, 2, { maxOrganizations: 1 });
    expect(await partnerRow(partnerId)).toMatchObject({ max_organizations: 9, status: 'suspended', version: '3' });
  });

  it('creates the first organization once on the event of a sign-up', async () => {
    const partnerId = await testApp.createPartner({ createFirstOrganization: true });
    await testApp.publishPartner('partner.created', partnerId, 1, { createFirstOrganization: true });
    const client = await testApp.clientFor({ partnerId });
    const { data } = (await client.get('/orgs/organizations')).body;
    expect(data).toMatchObject([
      { name: `Partner ${partnerId.slice(0, 8)}`, slug: `partner-${partnerId.slice(0, 8)}` },
    ]);
    expect((await client.get(`/orgs/sites?orgId=${data[0].id}`)).body.data).toMatchObject([
      { name: 'Main Office', timezone: 'UTC' },
    ]);
    await testApp.waitForMessage('organization.created', (envelope) => envelope.partnerId === partnerId);
    await testApp.waitForMessage('site.created', (envelope) => envelope.partnerId === partnerId);
    await testApp.waitForMessage('organization.create', (envelope) => envelope.partnerId === partnerId);
  });

  it('creates it once when RPC and event race, also before the partner is stored', async () => {
    const partnerId = randomUUID();
    testApp.identity.addPartner({ partnerId });
    const order = { partnerId, companyName: 'First Company', partnerSlug: 'first-company' };
    const replies = await Promise.all(
      [1, 2, 3].map(() => testApp.call(PROVISIONING_ORGANIZATIONS_ENSURE_FIRST, order)),
    );
    expect(new Set(replies.map((reply) => `${reply.organization.orgId} ${reply.site.siteId}`)).size).toBe(1);
    expect(replies[0]).toMatchObject({
      organization: {
        partnerId,
        name: 'First Company',
        slug: 'first-company',
        status: 'active',
        deleted: false,
        version: 1,
      },
      site: { partnerId, name: 'Main Office' },
    });
    await testApp.publishPartner('partner.created', partnerId, 1, { createFirstOrganization: true });
    const { rows } = await testApp.admin.query('select id from organization where partner_id = $1', [partnerId]);
    expect(rows).toEqual([{ id: replies[0].organization.orgId }]);
  });
});

describe('OrganizationsRpc', () => {
  it('refuses the first organization of a partner that identity does not have', async () => {
    const order = { partnerId: randomUUID(), companyName: 'Ghost', partnerSlug: 'ghost' };
    await expect(testApp.call(PROVISIONING_ORGANIZATIONS_ENSURE_FIRST, order)).rejects.toThrow('not_found');
    const { rows } = await testApp.admin.query(`select 1 from organization where name = 'Ghost'`);
    expect(rows).toEqual([]);
  });

  it('returns organizations by id, deleted ones included and unknown ones omitted', async () => {
    const partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    const [live, gone] = [
      (await client.post('/orgs/organizations', { name: 'Live' })).body.id as string,
      (await client.post('/orgs/organizations', { name: 'Gone' })).body.id as string,
    ];
    await testApp.admin.query('update organization set deleted_at = now() where id = $1', [gone]);
    const { organizations } = await testApp.call(PROVISIONING_ORGANIZATIONS_GET, {
      orgIds: [live, gone, randomUUID()],
    });
    const byId = new Map(organizations.map((organization) => [organization.orgId, organization]));
    expect([byId.get(live)?.deleted, byId.get(gone)?.deleted, byId.size]).toEqual([false, true, 2]);
  });

  it('lists every organization page by page, ordered by id', async () => {
    const partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    const rows = Array.from({ length: 25 }, (_, index) => ({ organization: `Customer ${index}` }));
    await client.post('/orgs/import', { rows });
    const seen: OrganizationState[] = [];
    let after: string | null = null;
    do {
      const page: { organizations: OrganizationState[]; next: string | null } = await testApp.call(
        PROVISIONING_ORGANIZATIONS_LIST_SINCE,
        { after, limit: 7 },
      );
      seen.push(...page.organizations);
      after = page.next;
    } while (after !== null);
    const { rows: stored } = await testApp.admin.query('select id from organization order by id');
    expect(seen.map((organization) => organization.orgId)).toEqual(stored.map((row) => row.id));
  });
});
