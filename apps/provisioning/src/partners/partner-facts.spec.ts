import {
  PROVISIONING_ORGANIZATIONS_ENSURE_FIRST,
  PROVISIONING_ORGANIZATIONS_GET,
  PROVISIONING_ORGANIZATIONS_LIST_SINCE,
  type OrganizationState,
} from '@rmm/contracts';
import { randomUUID } from 'node:crypto';
import { ProvisioningUnderTest } from '../../test/provisioning-under-test.js';

describe('partners, and what other services ask', () => {
  let service: ProvisioningUnderTest;
  beforeAll(async () => {
    service = await ProvisioningUnderTest.start();
  }, 60_000);
  afterAll(() => service?.stop());

  const partnerRow = async (id: string) =>
    (await service.admin.query('select * from partner where id = $1', [id])).rows[0];

  it('keeps the newest fact of a partner, whatever the order they come in', async () => {
    const partnerId = await service.partner({ maxOrganizations: 5 });
    await service.partnerFact('partner.updated', partnerId, 3, { maxOrganizations: 9, status: 'suspended' });
    await service.partnerFact('partner.updated', partnerId, 2, { maxOrganizations: 1 });
    expect(await partnerRow(partnerId)).toMatchObject({ max_organizations: 9, status: 'suspended', version: '3' });
  });

  it('makes the first organization on the fact of a sign-up, and only once', async () => {
    const partnerId = await service.partner({ createFirstOrganization: true });
    await service.partnerFact('partner.created', partnerId, 1, { createFirstOrganization: true });
    const client = await service.as({ partnerId });
    const { data } = (await client.get('/orgs/organizations')).body;
    expect(data).toMatchObject([
      { name: `Partner ${partnerId.slice(0, 8)}`, slug: `partner-${partnerId.slice(0, 8)}` },
    ]);
    expect((await client.get(`/orgs/sites?orgId=${data[0].id}`)).body.data).toMatchObject([
      { name: 'Main Office', timezone: 'UTC' },
    ]);
    await service.hears('organization.created', (envelope) => envelope.partnerId === partnerId);
    await service.hears('site.created', (envelope) => envelope.partnerId === partnerId);
    await service.hears('organization.create', (envelope) => envelope.partnerId === partnerId);
  });

  it('makes it once though RPC and fact ask at the same time, also before the partner is known', async () => {
    const partnerId = randomUUID();
    const order = { partnerId, companyName: 'First Company', partnerSlug: 'first-company' };
    const replies = await Promise.all([1, 2, 3].map(() => service.ask(PROVISIONING_ORGANIZATIONS_ENSURE_FIRST, order)));
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
    await service.partnerFact('partner.created', partnerId, 1, { createFirstOrganization: true });
    const { rows } = await service.admin.query('select id from organization where partner_id = $1', [partnerId]);
    expect(rows).toEqual([{ id: replies[0].organization.orgId }]);
  });

  it('gives organizations by id, deleted ones included, unknown ones left out', async () => {
    const partnerId = await service.partner();
    const client = await service.as({ partnerId });
    const [live, gone] = [
      (await client.post('/orgs/organizations', { name: 'Live' })).body.id as string,
      (await client.post('/orgs/organizations', { name: 'Gone' })).body.id as string,
    ];
    await service.admin.query('update organization set deleted_at = now() where id = $1', [gone]);
    const { organizations } = await service.ask(PROVISIONING_ORGANIZATIONS_GET, { orgIds: [live, gone, randomUUID()] });
    const byId = new Map(organizations.map((fact) => [fact.orgId, fact]));
    expect([byId.get(live)?.deleted, byId.get(gone)?.deleted, byId.size]).toEqual([false, true, 2]);
  });

  it('lists every organization from the oldest on, page by page, to rebuild a directory', async () => {
    const partnerId = await service.partner();
    const client = await service.as({ partnerId });
    const rows = Array.from({ length: 25 }, (_, index) => ({ organization: `Customer ${index}` }));
    await client.post('/orgs/import', { rows });
    const seen: OrganizationState[] = [];
    let after: string | null = null;
    do {
      const page: { organizations: OrganizationState[]; next: string | null } = await service.ask(
        PROVISIONING_ORGANIZATIONS_LIST_SINCE,
        { after, limit: 7 },
      );
      seen.push(...page.organizations);
      after = page.next;
    } while (after !== null);
    const { rows: stored } = await service.admin.query('select id from organization order by created_at, id');
    expect(seen.map((fact) => fact.orgId)).toEqual(stored.map((row) => row.id));
  });
});
