import { randomUUID } from 'node:crypto';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';
import { readManifest } from './system-library.service.js';

describe('/scripts/system-library', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());

  const freshPartner = async () => {
    const partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    const orgId = (await client.post('/orgs/organizations', { name: `Org ${randomUUID()}` }).expect(201)).body
      .id as string;
    return { partnerId, client, orgId };
  };
  const [first] = readManifest();

  it('lists the built-in scripts by page', async () => {
    const { client, partnerId } = await freshPartner();
    const { body } = await client.get('/scripts/system-library?limit=100').expect(200);
    const total = readManifest().length;
    expect(body.pagination).toEqual({ page: 1, limit: 100, total });
    expect(Object.keys(body.data[0]).sort()).toEqual(['category', 'description', 'id', 'language', 'name', 'osTypes']);
    const second = (await client.get('/scripts/system-library?limit=20&page=2')).body.data;
    expect(second).toEqual(body.data.slice(20, 40));
    expect((await client.get('/scripts/system-library?page=100')).body).toMatchObject({
      data: [],
      pagination: { total },
    });
    const one = (await client.get(`/scripts/system-library/${first.id}`).expect(200)).body;
    expect(one).toMatchObject({
      ...body.data[0],
      runAs: 'system',
      content: expect.stringContaining('Changes nothing'),
    });
    await client.get(`/scripts/system-library/${randomUUID()}`).expect(404);
    const writer = await testApp.clientFor({ partnerId, permissions: ['scripts:write'] });
    await writer.get('/scripts/system-library').expect(403);
  });

  it('copies a built-in script once for each owner', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    const path = `/scripts/import/${first.id}`;
    const { body } = await client.post(path, { orgId }).expect(201);
    expect(body).toMatchObject({ name: first.name, orgId, partnerId, version: 1, isSystem: false });
    const entry = await testApp.waitForMessage('script.import', ({ data }) => JSON.stringify(data).includes(body.id));
    expect(entry.data).toMatchObject({ details: { libraryScriptId: first.id } });
    expect((await client.post(path, { orgId }).expect(409)).body.code).toBe('name_taken');
    const wide = (await client.post(path, { availability: 'partner' }).expect(201)).body;
    expect(wide).toMatchObject({ orgId: null, partnerId });
    const other = (await client.post('/orgs/organizations', { name: 'Other' })).body.id;
    expect((await client.post(path, { orgId: other }).expect(409)).body.code).toBe('name_taken');
  });

  it('copies for members of the organization, and refuses other tenants, unknown scripts and callers without rights', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    const path = `/scripts/import/${first.id}`;
    const theirs = (await freshPartner()).client;
    expect((await theirs.post(path, { orgId }).expect(403)).body.code).toBe('organization_access_denied');
    await client.post(`/scripts/import/${randomUUID()}`, { orgId }).expect(404);
    await client.post('/scripts/import/x', { orgId }).expect(404);
    await client.post(path, {}).expect(400);
    const reader = await testApp.clientFor({ partnerId, permissions: ['scripts:read'] });
    await reader.post(path, { orgId }).expect(403);
    const single = await testApp.clientFor({ partnerId, mfa: false });
    expect((await single.post(path, { orgId }).expect(403)).body.code).toBe('mfa_required');
    const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId });
    expect((await member.post(path, {}).expect(201)).body.orgId).toBe(orgId);
  });
});
