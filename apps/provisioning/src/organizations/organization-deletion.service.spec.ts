import { randomUUID } from 'node:crypto';
import { mintAgentToken } from '@rmm/secrets';
import { eventually } from '@rmm/testing-services';
import { insertDevice } from '../../test/device-rows.js';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;

const statuses = (responses: { status: number }[]) => responses.map(({ status }) => status).sort();

describe('deletion of organizations', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let client: Client;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());
  beforeEach(async () => {
    partnerId = await testApp.createPartner();
    client = await testApp.clientFor({ partnerId });
  });

  const create = async (name = 'Acme', as = client) =>
    (await as.post('/orgs/organizations', { name })).body.id as string;
  const remove = (id: string, as = client) => as.delete(`/orgs/organizations/${id}`);
  const restore = (id: string, as = client) => as.post(`/orgs/organizations/${id}/restore`);
  const ids = async (query = '') =>
    (await client.get(`/orgs/organizations${query}`)).body.data.map(({ id }: { id: string }) => id) as string[];
  const deletedDaysAgo = (id: string, days: number) =>
    testApp.admin.query(`UPDATE organization SET deleted_at = now() - make_interval(days => $2) WHERE id = $1`, [
      id,
      days,
    ]);

  it('hides the organization and publishes the deletion', async () => {
    const id = await create();
    const response = await remove(id);
    expect([response.status, response.body]).toEqual([200, { success: true }]);
    expect((await client.get(`/orgs/organizations/${id}`)).status).toBe(404);
    expect((await client.patch(`/orgs/organizations/${id}`, { name: 'x' })).status).toBe(404);
    expect(await ids()).toEqual([]);
    const event = await testApp.waitForMessage('organization.deleted', ({ orgId }) => orgId === id);
    expect(event.data).toMatchObject({ deleted: true, version: 2 });
    const entry = await testApp.waitForMessage('organization.delete', ({ orgId }) => orgId === id);
    expect(entry.data).toMatchObject({ resourceId: id, details: { slug: 'acme' } });
  });

  it('refuses the agents and members of the organization at once', async () => {
    const id = await create();
    const { key, keyHash } = mintAgentToken();
    const deviceId = await insertDevice(testApp.admin, {
      partner_id: partnerId,
      org_id: id,
      agent_token_hash: keyHash,
    });
    const { rows } = await testApp.admin.query('SELECT agent_id FROM device WHERE id = $1', [deviceId]);
    const sendHeartbeat = () => testApp.client(key).post(`/agents/${rows[0].agent_id}/heartbeat`);
    const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId: id });
    expect([(await sendHeartbeat()).status, (await member.get('/devices')).status]).toEqual([200, 200]);
    await remove(id);
    await eventually(async () => {
      expect([(await sendHeartbeat()).status, (await member.get('/devices')).status]).toEqual([401, 403]);
    });
    await restore(id);
    await eventually(async () => {
      expect([(await sendHeartbeat()).status, (await member.get('/devices')).status]).toEqual([200, 200]);
    });
  });

  it('deletes once under 20 parallel requests', async () => {
    const id = await create();
    const responses = await Promise.all(Array.from({ length: 20 }, () => remove(id)));
    expect(statuses(responses)).toEqual([200, ...Array.from({ length: 19 }, () => 404)]);
    const { rows } = await testApp.admin.query('SELECT organizations FROM partner_count WHERE partner_id = $1', [
      partnerId,
    ]);
    expect(rows[0].organizations).toBe(0);
  });

  it('returns 403 without the permission and to organization callers, 404 to another tenant', async () => {
    const id = await create();
    const writer = await testApp.clientFor({ partnerId, permissions: ['organizations:write'] });
    const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId: id });
    const selected = await testApp.clientFor({ partnerId, orgAccess: 'selected', orgIds: [randomUUID()] });
    const stranger = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    for (const act of [remove, restore]) {
      expect((await act(id, writer)).body.code).toBe('permission_denied');
      expect((await act(id, member)).body.code).toBe('scope_not_allowed');
      for (const as of [selected, stranger]) expect((await act(id, as)).status).toBe(404);
      for (const unknown of [randomUUID(), 'x']) expect((await act(unknown)).status).toBe(404);
    }
    expect(await ids()).toEqual([id]);
  });

  it('frees the cap, which 20 parallel creates cannot exceed', async () => {
    partnerId = await testApp.createPartner({ maxOrganizations: 3 });
    client = await testApp.clientFor({ partnerId });
    const first = await create('First');
    const burst = () =>
      Promise.all(Array.from({ length: 20 }, (_, n) => client.post('/orgs/organizations', { name: `Burst ${n}` })));
    const created = await burst();
    expect(created.filter(({ status }) => status === 201)).toHaveLength(2);
    expect(new Set(created.filter(({ status }) => status !== 201).map(({ body }) => body.code))).toEqual(
      new Set(['organization_limit_reached']),
    );
    await remove(first);
    expect((await burst()).filter(({ status }) => status === 201)).toHaveLength(1);
    expect((await restore(first)).body.code).toBe('organization_limit_reached');
    expect(await ids('?deleted=true')).toEqual([first]);
  });

  it('frees the device cap with the organization and holds it at restoration', async () => {
    partnerId = await testApp.createPartner({ maxDevices: 1 });
    client = await testApp.clientFor({ partnerId });
    const [gone, live] = [await create('Gone'), await create('Live')];
    await insertDevice(testApp.admin, { partner_id: partnerId, org_id: gone });
    await remove(gone);
    await insertDevice(testApp.admin, { partner_id: partnerId, org_id: live });
    const refused = await restore(gone);
    expect([refused.status, refused.body.code]).toEqual([403, 'device_limit_reached']);
    await remove(live);
    expect((await restore(gone)).status).toBe(200);
  });

  it('restores within 30 days, with a free slug, and no other organization', async () => {
    const id = await create();
    await client.patch(`/orgs/organizations/${id}`, { settings: { kept: true } });
    expect((await restore(id)).status).toBe(404);
    await remove(id);
    const listed = await client.get('/orgs/organizations?deleted=true');
    expect(listed.body.data).toMatchObject([{ id, deletedAt: expect.any(String) }]);
    await create();
    const restored = await restore(id);
    expect(restored.status).toBe(200);
    expect(restored.body).toMatchObject({ id, slug: 'acme-2', deletedAt: null, settings: { kept: true } });
    await testApp.waitForMessage('organization.reactivate', ({ orgId }) => orgId === id);
    const event = await testApp.waitForMessage(
      'organization.updated',
      ({ orgId, data }) => orgId === id && (data as { version: number }).version === 4,
    );
    expect(event.data).toMatchObject({ deleted: false, slug: 'acme-2' });
    await remove(id);
    await deletedDaysAgo(id, 31);
    expect([(await restore(id)).status, await ids('?deleted=true')]).toEqual([404, []]);
  });

  it('restores once under 20 parallel requests', async () => {
    const id = await create();
    await remove(id);
    const responses = await Promise.all(Array.from({ length: 20 }, () => restore(id)));
    expect(statuses(responses)).toEqual([200, ...Array.from({ length: 19 }, () => 404)]);
  });

  it('returns 400 for a malformed filter', async () => {
    expect((await client.get('/orgs/organizations?deleted=maybe')).status).toBe(400);
  });
});
