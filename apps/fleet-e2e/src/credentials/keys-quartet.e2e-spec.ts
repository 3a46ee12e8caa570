import {
  connectToFleet,
  inviteAndAccept,
  createOrganization,
  partnerWithMfa,
  registerPartner,
  type ApiClient,
} from '@rmm/testing';
import { must } from '../steps.js';

interface Case {
  name: string;
  path: string;
  body: (orgId: string) => object;
  bad: object;
}

const CASES: Case[] = [
  {
    name: 'API keys',
    path: '/api-keys',
    body: (orgId) => ({ orgId, name: 'Reports', scopes: ['devices:read'] }),
    bad: { rateLimit: 100_001 },
  },
  {
    name: 'enrollment keys',
    path: '/enrollment-keys',
    body: (orgId) => ({ orgId, name: 'Roll-out' }),
    bad: { maxUses: 3 },
  },
];

describe.each(CASES)('$name', ({ path, body, bad }) => {
  const fleet = connectToFleet();
  let ours: ApiClient;
  let theirs: ApiClient;
  let viewer: ApiClient;
  let orgId: string;
  let id: string;

  beforeAll(async () => {
    const partner = await partnerWithMfa(fleet);
    ours = partner.client;
    theirs = (await partnerWithMfa(fleet)).client;
    orgId = (await createOrganization(ours)).orgId;
    const roles = must(await ours.get('/users/roles'), 200).data as { id: string; name: string }[];
    const roleId = roles.find((role) => role.name === 'Partner Viewer')?.id;
    viewer = (await inviteAndAccept(fleet, ours, { roleId, orgAccess: 'all' })).client;
  });

  it('are created, returned once, listed and read', async () => {
    const created = must(await ours.post(path, body(orgId)), 201);
    id = created.id as string;
    expect(created).toMatchObject({ orgId, status: 'active' });
    expect(created.key).toMatch(/^(svc_[A-Za-z0-9_-]{32}|[0-9a-f]{64})$/);
    const read = must(await ours.get(`${path}/${id}`), 200);
    expect(read).toMatchObject({ id, orgId });
    expect(JSON.stringify(read)).not.toContain(created.key);
    const list = must(await ours.get(`${path}?orgId=${orgId}&limit=10`), 200);
    expect(list.pagination).toEqual({ page: 1, limit: 10, total: 1 });
    expect(list.data[0].id).toBe(id);
  });

  it('respond with no-store when they contain the key', async () => {
    const created = await ours.post(path, body(orgId));
    expect(created.headers.get('cache-control')).toContain('no-store');
  });

  it('respond 403 without the permission', async () => {
    const response = await viewer.post(path, body(orgId));
    expect(response.status).toBe(403);
    expect(response.body).toMatchObject({ code: 'permission_denied', required: ['organizations:write'] });
  });

  it('respond 403 to a session without MFA', async () => {
    const { client } = await registerPartner(fleet);
    const own = await createOrganization(client);
    const response = await client.post(path, body(own.orgId));
    expect(response.status).toBe(403);
    expect(response.body.code).toBe('mfa_required');
  });

  it('respond 404 for records of another partner and 403 for its organization', async () => {
    const [foreign, unknown] = [
      await theirs.get(`${path}/${id}`),
      await theirs.get(`${path}/00000000-0000-4000-8000-000000000000`),
    ];
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' });
    const created = await theirs.post(path, body(orgId));
    expect([created.status, created.body.code]).toEqual([403, 'organization_access_denied']);
    const removed = await theirs.delete(`${path}/${id}`);
    expect(removed.status).toBe(404);
  });

  it('respond 400 to a malformed body, naming the field', async () => {
    const response = await ours.post(path, { ...body(orgId), ...bad });
    expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
    expect(Object.keys(response.body.details.fieldErrors as object)).toEqual(Object.keys(bad));
  });

  it('stop working when deleted', async () => {
    must(await ours.delete(`${path}/${id}`), 200);
    const again = await ours.delete(`${path}/${id}`);
    expect([400, 404]).toContain(again.status);
  });
});

describe('the scopes of an API key', () => {
  const fleet = connectToFleet();

  it('reject a wildcard, an unknown scope, and permissions the creator lacks', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const create = (scopes: string[]) => client.post('/api-keys', { orgId, name: 'x', scopes });
    expect((await create(['*'])).body.code).toBe('wildcard_scope_unsupported');
    const unknown = await create(['devices:fly']);
    expect([unknown.status, unknown.body.code]).toEqual([400, 'unsupported_scope']);
    expect(unknown.body.supportedScopes).toContain('devices:read');
    expect((await create(['ai:execute_admin'])).status).toBe(201);
  });
});
