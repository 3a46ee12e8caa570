import {
  ApiClient,
  buildEnrollment,
  connectToFleet,
  createOrganization,
  eventually,
  inviteAndAccept,
  partnerWithMfa,
  WebhookReceiver,
} from '@rmm/testing';
import { createApiKey, machine } from '../credentials/machines.js';
import { enrollmentKey, must } from '../steps.js';
import { query, withBaseUrl } from './tenant-state.js';

interface Line {
  resource: string;
  data: Record<string, unknown>;
}

/** Tables of each service whose rows may name an erased organization: its tombstone with a counter, its erasure and what is sealed. */
const REMAINING: Record<string, string[]> = {
  provisioning: [
    'organization_count',
    'organization_erasure',
    'organization_erasure_part',
    'export_restamp',
    'idempotency_record',
  ],
  identity: ['organization_directory', 'organization_erasure', 'audit_entry', 'audit_name', 'audit_name_salt'],
  credentials: ['organization_directory', 'organization_erasure'],
  webhook_dispatcher: ['organization_directory', 'organization_erasure'],
};

describe('offboarding of an organization', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  let theirs: ApiClient;
  const receiver = new WebhookReceiver();
  let url: string;

  beforeAll(async () => {
    url = await receiver.start();
    [{ client }, { client: theirs }] = await Promise.all([partnerWithMfa(fleet), partnerWithMfa(fleet)]);
  });

  afterAll(() => receiver.stop());

  /** An organization with something in every service. */
  async function buildCustomer() {
    const { orgId, siteId } = await createOrganization(client);
    const roles = must(await client.get(`/users/roles?orgId=${orgId}`), 200).data as { id: string; name: string }[];
    const roleId = roles.find((role) => role.name === 'Org Admin')?.id;
    const { client: member, email } = await inviteAndAccept(fleet, client, { roleId, orgId });
    const rollOut = await enrollmentKey(client, orgId, { maxUsage: 5, siteId });
    const agent = must(await new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(rollOut)), 201);
    const { key: apiKey } = await createApiKey(client, orgId);
    must(await client.post('/webhooks', { orgId, name: 'Hook', url, events: ['*'] }), 201);
    const { slug } = must(await client.get(`/orgs/organizations/${orgId}`), 200) as unknown as { slug: string };
    return { orgId, siteId, member, email, rollOut, agent, apiKey, slug };
  }

  /** Reads an export as lines. */
  async function readExport(by: ApiClient, orgId: string): Promise<Line[]> {
    const response = await by.get(`/orgs/organizations/${orgId}/export`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    return String(response.body)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  }

  /** Returns the tables with rows of an organization, other than those in which rows may remain. */
  async function tablesWithRows(orgId: string): Promise<string[]> {
    const found: string[] = [];
    for (const [schema, remaining] of Object.entries(REMAINING)) {
      const tables = await query<{ name: string }>(
        fleet,
        `SELECT c.table_name AS name FROM information_schema.columns c
           JOIN information_schema.tables t USING (table_schema, table_name)
          WHERE c.table_schema = $1 AND c.column_name = 'org_id' AND t.table_type = 'BASE TABLE'`,
        [schema],
      );
      for (const { name } of tables) {
        if (remaining.some((table) => name === table || name.startsWith(`${table}_`))) continue;
        const rows = await query(fleet, `SELECT 1 AS one FROM ${schema}.${name} WHERE org_id = $1 LIMIT 1`, [orgId]);
        if (rows.length > 0) found.push(`${schema}.${name}`);
      }
    }
    return found;
  }

  it('exports everything of the organization and nothing of another one, without secrets', async () => {
    const [customer, other] = [await buildCustomer(), await buildCustomer()];
    const lines = await readExport(client, customer.orgId);
    expect(lines[0]).toMatchObject({ resource: 'export', data: { version: 1, orgId: customer.orgId } });
    const { counts } = lines.at(-1)?.data as { counts: Record<string, number> };
    expect(lines.at(-1)?.data).toMatchObject({ complete: true });
    expect(counts).toMatchObject({
      organization: 1,
      site: 1,
      device: 1,
      api_key: 1,
      enrollment_key: 1,
      webhook: 1,
      member: 1,
      invitation: 1,
    });
    expect(counts.audit_entry).toBeGreaterThan(3);
    for (const [resource, count] of Object.entries(counts)) {
      expect([resource, lines.filter((line) => line.resource === resource).length]).toEqual([resource, count]);
    }
    const text = JSON.stringify(lines);
    expect(text).toContain(customer.email);
    for (const secret of [customer.apiKey, customer.rollOut, customer.agent.authToken as string]) {
      expect(text).not.toContain(secret);
    }
    for (const foreign of [other.orgId, other.siteId, other.email]) expect(text).not.toContain(foreign);
    await eventually(async () => {
      const page = must(await client.get(`/audit-logs?orgId=${customer.orgId}&action=organization.export`), 200);
      expect(page.data).toMatchObject([{ resourceId: customer.orgId, result: 'success' }]);
    });
  });

  it('is closed to members, to other partners and to sessions without a factor', async () => {
    const { orgId, member, slug } = await buildCustomer();
    const { orgId: foreign } = await createOrganization(theirs);
    for (const id of [foreign, '00000000-0000-4000-8000-000000000000']) {
      expect((await client.get(`/orgs/organizations/${id}/export`)).status).toBe(404);
      expect((await client.get(`/orgs/organizations/${id}/erasure`)).status).toBe(404);
      expect((await client.post(`/orgs/organizations/${id}/erasure`, { slug })).status).toBe(404);
    }
    expect((await client.get('/orgs/organizations/no-uuid/export')).status).toBe(404);
    expect((await member.get(`/orgs/organizations/${orgId}/export`)).status).toBe(403);
    expect((await member.get(`/orgs/organizations/${orgId}/erasure`)).body.code).toBe('scope_not_allowed');
    expect((await member.post(`/orgs/organizations/${orgId}/erasure`, { slug })).status).toBe(403);
    expect((await theirs.get(`/orgs/organizations/${orgId}/export`)).status).toBe(404);
    expect((await new ApiClient(fleet.baseUrl).get(`/orgs/organizations/${orgId}/export`)).status).toBe(401);
    // live: nothing to erase
    expect((await client.post(`/orgs/organizations/${orgId}/erasure`, { slug })).status).toBe(404);
  });

  it('erases a deleted organization in every service, and reports it; the audit trail still verifies', async () => {
    const [customer, other] = [await buildCustomer(), await buildCustomer()];
    const { orgId, slug, email, agent, apiKey, member } = customer;
    const erasure = `/orgs/organizations/${orgId}/erasure`;
    must(await client.delete(`/orgs/organizations/${orgId}`), 200);
    expect(must(await client.get(erasure), 200)).toMatchObject({ status: 'scheduled', services: [] });
    expect((await readExport(client, orgId)).at(-1)?.data).toMatchObject({ complete: true });
    for (const body of [{ slug: 'another' }, {}, { slug: 5 }, { slug, force: true }]) {
      expect((await client.post(erasure, body)).body.code).toBe('validation_failed');
    }
    expect((await theirs.post(erasure, { slug })).status).toBe(404);
    const requested = await Promise.all(Array.from({ length: 5 }, () => client.post(erasure, { slug })));
    expect(requested.map(({ status }) => status).filter((status) => status === 202).length).toBeGreaterThan(0);
    expect(requested.filter(({ status }) => status >= 500)).toEqual([]);
    expect((await client.post(`/orgs/organizations/${orgId}/restore`)).status).toBe(404);
    expect((await client.get(`/orgs/organizations/${orgId}/export`)).status).toBe(404);

    await eventually(async () => expect(must(await client.get(erasure), 200)).toMatchObject({ status: 'finished' }), {
      timeoutMs: 60_000,
    });
    const report = must(await client.get(erasure), 200) as unknown as {
      services: { service: string; erased: Record<string, number> }[];
    };
    const erased = Object.fromEntries(report.services.map((part) => [part.service, part.erased]));
    expect(erased).toMatchObject({
      provisioning: { device: 1, site: 1 },
      credentials: { api_key: 1, enrollment_key: 1 },
      'webhook-dispatcher': { webhook: 1 },
      identity: { membership: 1, account: 1 },
    });
    expect((await theirs.get(erasure)).status).toBe(404);
    expect(await tablesWithRows(orgId)).toEqual([]);
    expect(await query(fleet, 'SELECT id FROM identity.user_account WHERE email = $1', [email])).toEqual([]);
    expect((await withBaseUrl(member, fleet.baseUrl).get('/users/me')).status).toBe(401);
    expect((await machine(fleet, apiKey, fleet.baseUrl).get(`/devices/${agent.deviceId}/custom-fields`)).status).toBe(
      401,
    );

    await eventually(async () => {
      const page = must(await client.get('/audit-logs?limit=100'), 200).data as { orgId: string; action: string }[];
      const entries = page.filter((entry) => entry.orgId === orgId);
      expect(entries.map(({ action }) => action)).toEqual(
        expect.arrayContaining(['organization.create', 'organization.export', 'organization.erase']),
      );
      for (const name of [email, slug]) expect(JSON.stringify(entries)).not.toContain(name);
    });
    const { data } = must(await client.get('/audit-logs/verify'), 200) as unknown as { data: object };
    expect(data).toMatchObject({ verified: true });
    expect(
      (await machine(fleet, other.apiKey, fleet.baseUrl).get(`/devices/${other.agent.deviceId}/custom-fields`)).status,
    ).toBe(200);
    expect((await readExport(client, other.orgId)).at(-1)?.data).toMatchObject({ counts: { device: 1, member: 1 } });
  });

  it('takes settings.security with a new organization', async () => {
    const settings = { security: { requireMfa: true } };
    const created = await client.post('/orgs/organizations', { name: 'Secured from the start', settings });
    expect([created.status, created.body.settings]).toEqual([201, settings]);
    const { id } = created.body as { id: string };
    expect(
      (await client.post('/orgs/organizations', { name: 'X', settings: { security: { requireMfa: 'x' } } })).status,
    ).toBe(400);
    const roles = must(await client.get(`/users/roles?orgId=${id}`), 200).data as { id: string; name: string }[];
    const roleId = roles.find((role) => role.name === 'Org Admin')?.id;
    const { client: member } = await inviteAndAccept(fleet, client, { roleId, orgId: id });
    expect((await member.get('/devices')).body.code).toBe('mfa_enrollment_required');
  });
});
