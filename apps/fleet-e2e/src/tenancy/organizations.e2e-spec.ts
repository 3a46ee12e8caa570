import {
  connectToFleet,
  inviteAndAccept,
  createOrganization,
  eventually,
  partnerWithMfa,
  registerPartner,
  signInAdmin,
  type ApiClient,
} from '@rmm/testing';
import { auditedNames, must } from '../steps.js';

const rows = (count: number, name = 'Customer') =>
  Array.from({ length: count }, (_, index) => ({
    organization: `${name} ${index + 1}`,
    site: 'Main Office',
    externalId: `${name}-${index + 1}`,
    timezone: 'Europe/Vienna',
  }));

/** Returns the names of the audited customers, sorted by their numbers. */
async function auditedCustomers(client: ApiClient, action: string): Promise<string[]> {
  const customers = (await auditedNames(client, action)).filter((name) => name.startsWith('Customer '));
  return customers.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

describe('organizations', () => {
  const fleet = connectToFleet();
  let ours: ApiClient;
  let theirs: ApiClient;

  beforeAll(async () => {
    ours = (await partnerWithMfa(fleet)).client;
    theirs = (await partnerWithMfa(fleet)).client;
  });

  it('exist from the first request after sign-up: one, with a site "Main Office"', async () => {
    const { client } = await registerPartner(fleet, 'First Company');
    const organizations = must(await client.get('/orgs/organizations'), 200);
    expect(organizations.data).toHaveLength(1);
    expect(organizations.data[0]).toMatchObject({ name: 'First Company', status: 'active' });
    const sites = must(await client.get(`/orgs/sites?orgId=${organizations.data[0].id}`), 200);
    expect(sites.data).toMatchObject([{ name: 'Main Office', timezone: 'UTC' }]);
  });

  it('are created and read, with a unique slug', async () => {
    const created = must(await ours.post('/orgs/organizations', { name: 'Acme', slug: 'acme' }), 201);
    expect(must(await ours.get(`/orgs/organizations/${created.id}`), 200)).toMatchObject({
      name: 'Acme',
      slug: 'acme',
    });
    const again = await ours.post('/orgs/organizations', { name: 'Acme two', slug: 'acme' });
    expect([again.status, again.body.code]).toEqual([409, 'organization_slug_conflict']);
    expect((await theirs.get(`/orgs/organizations/${created.id}`)).status).toBe(404);
  });

  it('respond 403 to a viewer and to a member of one organization', async () => {
    const { orgId } = await createOrganization(ours);
    const roles = must(await ours.get('/users/roles'), 200).data as { id: string; name: string }[];
    const roleId = roles.find((role) => role.name === 'Partner Viewer')?.id;
    const viewer = (await inviteAndAccept(fleet, ours, { roleId, orgAccess: 'selected', orgIds: [orgId] })).client;
    expect((await viewer.post('/orgs/organizations', { name: 'No' })).status).toBe(403);
    const seen = must(await viewer.get('/orgs/organizations'), 200);
    expect(seen.data.map((organization: { id: string }) => organization.id)).toEqual([orgId]);
  });

  it('are imported: the preview writes nothing, the commit creates all', async () => {
    const { client } = await partnerWithMfa(fleet);
    const preview = must(await client.post('/orgs/import/preview', { rows: rows(100) }), 200);
    expect(preview.rows).toHaveLength(100);
    expect(preview.rows.every((row: { annotation: string }) => row.annotation === 'create')).toBe(true);
    expect(must(await client.get('/orgs/organizations'), 200).pagination.total).toBe(1);

    const commit = must(await client.post('/orgs/import', { rows: rows(100) }), 200);

    expect(commit.errors).toEqual([]);
    expect(commit.imported).toHaveLength(100);
    expect(commit.imported[0]).toMatchObject({
      organization: 'Customer 1',
      siteName: 'Main Office',
      createdLink: true,
    });
    expect(must(await client.get('/orgs/organizations'), 200).pagination.total).toBe(101);
    const again = must(await client.post('/orgs/import', { rows: rows(100) }), 200);
    expect(again.imported).toEqual([]);
    expect(again.skipped).toHaveLength(100);
  });

  it('have an audit entry each when they are imported and undone, and every service refuses them after the undo', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { imported, runId } = must(await client.post('/orgs/import', { rows: rows(120) }), 200);
    const orgId = imported[60].organizationId as string;
    const reads = [`/webhooks?orgId=${orgId}`, `/api-keys?orgId=${orgId}`, `/orgs/sites?orgId=${orgId}`];
    for (const path of reads) must(await client.get(path), 200);
    const names = rows(120).map(({ organization }) => organization);
    await eventually(async () => expect(await auditedCustomers(client, 'organization.create')).toEqual(names));

    must(await client.post(`/imports/${runId}/undo`), 202);
    await eventually(async () => {
      const { state, undo } = must(await client.get(`/imports/${runId}`), 200);
      expect([state, undo]).toMatchObject(['undone', { restored: 120, kept: 0 }]);
    });
    await eventually(async () => expect(await auditedCustomers(client, 'organization.delete')).toEqual(names));
    for (const path of reads) expect([path, (await client.get(path)).status]).toEqual([path, 403]);
    expect(must(await client.get('/audit-logs/verify'), 200).data).toMatchObject({ verified: true, firstBreak: null });
  });

  it('need MFA for an import, and reject 1,001 rows and a row without a name', async () => {
    const { client } = await registerPartner(fleet);
    const plain = await client.post('/orgs/import', { rows: rows(1) });
    expect([plain.status, plain.body.code]).toEqual([403, 'mfa_required']);
    expect((await ours.post('/orgs/import', { rows: rows(1_001) })).status).toBe(400);
    const bad = await ours.post('/orgs/import', { rows: [{ organization: 'A' }, { site: 'no name' }] });
    expect([bad.status, bad.body.code]).toEqual([400, 'validation_failed']);
    expect(bad.body.details.fieldErrors).toHaveProperty(['rows.1.organization']);
  });

  it('are usable by every service right after their creation', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    expect((await client.post('/api-keys', { orgId, name: 'At once' })).status).toBe(201);
    const webhook = { orgId, name: 'x', url: 'https://example.com/hook', events: ['device.*'] };
    expect([201, 400]).toContain((await client.post('/webhooks', webhook)).status);
    expect((await client.get(`/webhooks?orgId=${orgId}`)).status).toBe(200);
  });

  it('of all partners are visible to the platform administrator', async () => {
    const admin = await signInAdmin(fleet);
    const page = must(await admin.get('/orgs/organizations?limit=1'), 200);
    expect(page.pagination.total).toBeGreaterThan(5);
  });
});
