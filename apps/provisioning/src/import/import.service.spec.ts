import { TenantTransaction } from '@rmm/persistence';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

const customers = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => ({
    organization: `Customer ${from + index}`,
    externalId: `C-${from + index}`,
    site: 'Main Office',
    timezone: 'Europe/Berlin',
  }));

/** Statements sent inside tenant transactions while `work` runs. */
async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  const prototype = Object.getPrototypeOf(TenantTransaction.prototype) as { query: () => unknown };
  const spy = jest.spyOn(prototype, 'query');
  try {
    await work();
    return spy.mock.contexts.filter((context) => context instanceof TenantTransaction).length;
  } finally {
    spy.mockRestore();
  }
}

describe('/orgs/import', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  }, 60_000);
  afterAll(() => testApp?.stop());

  const freshPartner = async (caps = {}) => {
    const partnerId = await testApp.createPartner(caps);
    return { partnerId, client: await testApp.clientFor({ partnerId }) };
  };
  const countOf = async (table: string, partnerId: string): Promise<number> => {
    const { rows } = await testApp.admin.query(`select count(*)::int as total from ${table} where partner_id = $1`, [
      partnerId,
    ]);
    return rows[0].total;
  };

  it('previews without a write, creates organizations, links and sites, and changes nothing when repeated', async () => {
    const { client, partnerId } = await freshPartner();
    const rows = customers(100);
    const preview = await client.post('/orgs/import/preview', { rows });
    expect(preview.status).toBe(200);
    expect(preview.body.warnings).toEqual([]);
    expect(preview.body.rows[41]).toEqual({
      ...rows[41],
      index: 41,
      annotation: 'create',
      slug: 'customer-42',
      organizationId: null,
    });
    expect(await countOf('organization', partnerId)).toBe(0);

    const commit = await client.post('/orgs/import', { rows });
    expect(commit.status).toBe(200);
    expect(commit.body).toMatchObject({ updated: [], skipped: [], errors: [], warnings: [] });
    expect(commit.body.imported).toHaveLength(100);
    const [first] = commit.body.imported;
    expect(first).toEqual({
      index: 0,
      organization: 'Customer 1',
      organizationId: expect.any(String),
      siteId: expect.any(String),
      siteName: 'Main Office',
      createdOrganization: true,
      createdLink: true,
      slug: 'customer-1',
    });
    const shown = await client.get(`/orgs/organizations/${first.organizationId}`);
    expect(shown.body.externalLinks).toEqual([{ system: 'csv', externalId: 'C-1' }]);
    expect((await client.get(`/orgs/sites/${first.siteId}`)).body).toMatchObject({ timezone: 'Europe/Berlin' });
    expect(await countOf('organization', partnerId)).toBe(100);

    const before = await testApp.admin.query('select xmin::text, id from organization where partner_id = $1', [
      partnerId,
    ]);
    const again = await client.post('/orgs/import', { rows });
    expect(again.body).toMatchObject({ imported: [], updated: [], errors: [] });
    expect(again.body.skipped).toHaveLength(100);
    expect(again.body.skipped[0]).toMatchObject({ reason: 'already_linked', createdLink: false });
    const after = await testApp.admin.query('select xmin::text, id from organization where partner_id = $1', [
      partnerId,
    ]);
    expect(new Set(after.rows.map((row) => row.xmin))).toEqual(new Set(before.rows.map((row) => row.xmin)));

    const ours = (envelope: { orgId: string | null }) => envelope.orgId === first.organizationId;
    expect((await testApp.waitForMessage('organization.created', ours)).data).toMatchObject({
      name: 'Customer 1',
      version: 1,
    });
    await testApp.waitForMessage('site.created', ours);
    expect((await testApp.waitForMessage('organization.create', ours)).data).toMatchObject({
      details: { source: 'import', slug: 'customer-1', externalLinks: [{ system: 'csv', externalId: 'C-1' }] },
    });
  });

  it('uses the same number of statements for 1,000 rows as for 10', async () => {
    const { client, partnerId } = await freshPartner({ maxOrganizations: 5_000 });
    const few = await statementsOf(() => client.post('/orgs/import', { rows: customers(10) }));
    let response: Awaited<ReturnType<typeof client.post>> | undefined;
    const many = await statementsOf(async () => {
      response = await client.post('/orgs/import', { rows: customers(1_000, 11) });
    });
    expect(response?.body.imported).toHaveLength(1_000);
    expect(await countOf('site', partnerId)).toBe(1_010);
    expect(many).toBe(few);
    expect(many).toBeLessThanOrEqual(14);
  });

  it('fills the cap exactly when two imports race', async () => {
    const { client, partnerId } = await freshPartner({ maxOrganizations: 15 });
    const responses = await Promise.all([
      client.post('/orgs/import', { rows: customers(10, 1) }),
      client.post('/orgs/import', { rows: customers(10, 101) }),
    ]);
    const imported = responses.flatMap((response) => response.body.imported);
    const errors = responses.flatMap((response) => response.body.errors);
    expect([imported.length, errors.length]).toEqual([15, 5]);
    expect(new Set(errors.map((error) => error.code))).toEqual(new Set(['organization-limit-reached']));
    expect(await countOf('organization', partnerId)).toBe(15);
  });

  it('creates each organization once when the same file is imported twice concurrently', async () => {
    const { client, partnerId } = await freshPartner();
    const responses = await Promise.all([1, 2].map(() => client.post('/orgs/import', { rows: customers(50) })));
    expect(responses.map((response) => response.body.imported.length + response.body.skipped.length)).toEqual([50, 50]);
    expect(responses.flatMap((response) => response.body.imported)).toHaveLength(50);
    expect(await countOf('organization', partnerId)).toBe(50);
  });

  it('stores the link of a confirmed name match', async () => {
    const { client } = await freshPartner();
    const { id } = (await client.post('/orgs/organizations', { name: 'Acme' })).body;
    const row = { organization: 'ACME', externalId: '7' };
    const preview = await client.post('/orgs/import/preview', { rows: [row] });
    expect(preview.body.rows[0]).toMatchObject({
      annotation: 'name-match',
      organizationId: id,
      matchedOrganizationName: 'Acme',
      matchedBy: 'name',
      matchedOrganizationLinkedToSystem: false,
      slug: 'acme',
    });
    const refused = await client.post('/orgs/import', { rows: [row] });
    expect(refused.body.errors).toMatchObject([{ index: 0, organization: 'ACME', code: 'name-match-unconfirmed' }]);
    const confirmed = { ...row, expectedAnnotation: 'name-match', expectedOrganizationId: id };
    const done = await client.post('/orgs/import', { rows: [confirmed] });
    expect(done.body.skipped).toMatchObject([
      { organizationId: id, reason: 'name_match_confirmed', createdLink: true },
    ]);
    await testApp.waitForMessage('organization.external_link.create', (envelope) => envelope.orgId === id);
    const late = await client.post('/orgs/import', { rows: [confirmed] });
    expect(late.body.errors).toMatchObject([{ code: 'annotation-changed' }]);
  });

  it('updates existing sites and adds missing ones in mode update', async () => {
    const { client } = await freshPartner();
    const [created] = (await client.post('/orgs/import', { rows: customers(1) })).body.imported;
    const rows = [
      { ...customers(1)[0], site: 'MAIN office', timezone: 'UTC', contact: { name: 'Ann' } },
      { ...customers(1)[0], site: 'Branch' },
    ];
    const response = await client.post('/orgs/import', { rows, mode: 'update' });
    expect(response.body.errors).toEqual([]);
    expect(response.body.updated).toMatchObject([
      { index: 0, siteId: created.siteId, siteName: 'Main Office', createdSite: false, reactivated: false },
      { index: 1, siteName: 'Branch', createdSite: true },
    ]);
    const site = await client.get(`/orgs/sites/${created.siteId}`);
    expect(site.body).toMatchObject({ timezone: 'UTC', contact: { name: 'Ann', email: null, phone: null } });
    const event = await testApp.waitForMessage('site.updated', (envelope) => envelope.aggregateId === created.siteId);
    expect(event.data).toMatchObject({ version: 2 });
  });

  it('reactivates a soft-deleted organization on request with a slug that is free', async () => {
    const { client } = await freshPartner();
    const [created] = (await client.post('/orgs/import', { rows: customers(1) })).body.imported;
    await testApp.admin.query('update organization set deleted_at = now() where id = $1', [created.organizationId]);
    const plain = await client.post('/orgs/import', { rows: customers(1) });
    expect(plain.body.errors).toMatchObject([{ code: 'soft-deleted-unconfirmed' }]);
    await client.post('/orgs/organizations', { name: 'Customer 1' });
    const response = await client.post('/orgs/import', { rows: [{ ...customers(1)[0], reactivate: true }] });
    expect(response.body.updated).toMatchObject([{ organizationId: created.organizationId, reactivated: true }]);
    const shown = await client.get(`/orgs/organizations/${created.organizationId}`);
    expect(shown.body).toMatchObject({ slug: 'customer-1-2', status: 'active' });
    await testApp.waitForMessage('organization.reactivate', (envelope) => envelope.orgId === created.organizationId);
  });

  it('moves the link of a deleted organization to a forced new one', async () => {
    const { client, partnerId } = await freshPartner();
    const [created] = (await client.post('/orgs/import', { rows: customers(1) })).body.imported;
    await testApp.admin.query('update organization set deleted_at = now() where id = $1', [created.organizationId]);
    const response = await client.post('/orgs/import', { rows: [{ ...customers(1)[0], forceCreate: true }] });
    expect(response.body.errors).toEqual([]);
    const [{ organizationId }] = response.body.imported;
    const { rows } = await testApp.admin.query('select org_id from external_link where partner_id = $1', [partnerId]);
    expect(rows).toEqual([{ org_id: organizationId }]);
  });

  it('writes the other groups when one cannot be written', async () => {
    const { client, partnerId } = await freshPartner();
    await testApp.admin.query(`
      create or replace function refuse_cursed() returns trigger language plpgsql as $$
      begin if new.name = 'Cursed' then raise exception 'secret of the database'; end if; return new; end $$`);
    await testApp.admin.query(
      'create trigger refuse_cursed before insert on organization for each row execute function refuse_cursed()',
    );
    try {
      const rows = [{ organization: 'Fine' }, { organization: 'Cursed' }, { organization: 'Also fine' }];
      const response = await client.post('/orgs/import', { rows });
      expect(response.body.imported.map((item: { index: number }) => item.index)).toEqual([0, 2]);
      expect(response.body.errors).toMatchObject([{ index: 1, organization: 'Cursed', code: 'write-failed' }]);
      expect(JSON.stringify(response.body)).not.toContain('secret of the database');
      expect(await countOf('organization', partnerId)).toBe(2);
      expect(await countOf('site', partnerId)).toBe(2);
    } finally {
      await testApp.admin.query('drop trigger refuse_cursed on organization; drop function refuse_cursed()');
    }
  });

  it('never matches an organization or link of another partner', async () => {
    const other = await freshPartner();
    await other.client.post('/orgs/import', { rows: customers(1) });
    const { client } = await freshPartner();
    const preview = await client.post('/orgs/import/preview', { rows: customers(1) });
    expect(preview.body.rows[0]).toMatchObject({ annotation: 'create', organizationId: null });
    const foreign = await client.post('/orgs/import', { rows: customers(1), partnerId: other.partnerId });
    expect([foreign.status, foreign.body.code]).toEqual([403, 'partner_access_denied']);
  });

  it.each(['/orgs/import', '/orgs/import/preview'])(
    '%s is closed without MFA, permission, scope or the whole partner',
    async (path) => {
      const partnerId = await testApp.createPartner();
      const body = { rows: customers(1) };
      const { id } = (await (await testApp.clientFor({ partnerId })).post('/orgs/organizations', { name: 'Own' })).body;
      const codes = await Promise.all(
        [
          { partnerId, mfa: false },
          { partnerId, permissions: ['organizations:write'] },
          { partnerId, scope: 'organization' as const, orgId: id },
          { partnerId, orgAccess: 'selected' as const, orgIds: [id] },
        ].map(async (user) => {
          const response = await (await testApp.clientFor(user)).post(path, body);
          return [response.status, response.body.code];
        }),
      );
      expect(codes).toEqual([
        [403, 'mfa_required'],
        [403, 'permission_denied'],
        [403, 'scope_not_allowed'],
        [403, 'full_partner_access_required'],
      ]);
    },
  );

  it('refuses a malformed request as a whole and ignores unknown columns', async () => {
    const { client, partnerId } = await freshPartner();
    const bad = await client.post('/orgs/import', { rows: [{ organization: 'A' }, { site: 'x' }, 5] });
    expect(bad.status).toBe(400);
    expect(bad.body.code).toBe('validation_failed');
    expect(Object.keys(bad.body.details.fieldErrors)).toEqual(['rows.1.organization', 'rows.2']);
    expect((await client.post('/orgs/import', { rows: customers(1_001) })).status).toBe(400);
    expect((await client.post('/orgs/import', { rows: 'all' })).status).toBe(400);
    expect((await client.post('/orgs/import', { rows: [], mode: 'replace' })).status).toBe(400);
    expect((await client.post('/orgs/import', '{"rows": [')).body.code).toBe('malformed_json');
    expect(await countOf('organization', partnerId)).toBe(0);
    const extra = await client.post('/orgs/import', { rows: [{ organization: 'A', color: 'red' }] });
    expect(extra.body.warnings).toEqual([{ code: 'unknown-column', column: 'color', rows: [0] }]);
    expect(extra.body.imported).toHaveLength(1);
  });

  it('accepts bodies above the global limit up to its own limit', async () => {
    const { client } = await freshPartner();
    const padded = (bytes: number) => ({ rows: [{ organization: 'Large', padding: 'x'.repeat(bytes) }] });
    expect((await client.post('/orgs/import/preview', padded(2_000_000))).status).toBe(200);
    const over = await client.post('/orgs/import/preview', padded(9_000_000));
    expect([over.status, over.body.code]).toEqual([413, 'payload_too_large']);
  });

  it('imports for the partner that a system caller names', async () => {
    const { partnerId } = await freshPartner();
    const admin = await testApp.clientFor({ scope: 'system' });
    const response = await admin.post('/orgs/import', { rows: customers(3), partnerId });
    expect(response.body.imported).toHaveLength(3);
    expect(await countOf('organization', partnerId)).toBe(3);
  });
});
