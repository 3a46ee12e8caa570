import { randomBytes, randomUUID } from 'node:crypto';
import { insertDevice } from '../../../test/device-rows.js';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;

describe('/devices/provision', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let siteId: string;
  let client: Client;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    client = await testApp.clientFor({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id;
    siteId = (await client.post('/orgs/sites', { orgId, name: 'A' })).body.id;
  });
  afterAll(() => testApp?.stop());

  const bodyOf = (more: object = {}) => ({ orgId, siteId, hostname: randomUUID(), osType: 'windows', ...more });
  const provision = async (more: object = {}) => (await client.post('/devices/provision', bodyOf(more))).body;
  const fetchWith = (token: string, as = client) => as.get(`/devices/provision/fetch/${token}`);
  const tokenOf = async () => (await provision()).credentials.fetch_token as string;

  it('creates a pending device and returns a token that is stored as a hash', async () => {
    const response = await client.post('/devices/provision', bodyOf({ hostname: 'Front-Desk', displayName: 'Desk' }));
    const { success, device, credentials } = response.body;
    expect([response.status, success, response.headers['cache-control']]).toEqual([201, true, 'no-store']);
    expect(device).toMatchObject({ orgId, siteId, hostname: 'Front-Desk', displayName: 'Desk', osType: 'windows' });
    expect(device).toMatchObject({ status: 'pending', enrolledAt: null, lastSeenAt: null });
    expect(credentials).toEqual({
      fetch_url: expect.stringMatching(new RegExp(`/api/v1/devices/provision/fetch/${credentials.fetch_token}$`)),
      fetch_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      expires_at: expect.any(String),
      single_use: true,
    });
    const { rows } = await testApp.admin.query('SELECT * FROM device_provision WHERE device_id = $1', [device.id]);
    expect(JSON.stringify(rows)).not.toContain(credentials.fetch_token);
    expect(Date.parse(credentials.expires_at) - rows[0].created_at.getTime()).toBe(300_000);
    const entry = await testApp.waitForMessage('device.provision', ({ aggregateId }) => aggregateId === device.id);
    expect(JSON.stringify(entry)).not.toContain(credentials.fetch_token);
  });

  it('returns the identity of the agent once, and the device goes online with its first heartbeat', async () => {
    const { device, credentials } = await provision();
    const fetched = await fetchWith(credentials.fetch_token);
    expect([fetched.status, fetched.headers['cache-control']]).toEqual([200, 'no-store']);
    const { agentId, authToken } = fetched.body;
    expect(fetched.body).toEqual({
      agentId: device.agentId,
      deviceId: device.id,
      authToken: expect.stringMatching(/^agt_/),
      orgId,
      siteId,
      serverUrl: expect.stringMatching(/^http/),
      config: { heartbeatIntervalSeconds: 60, metricsCollectionIntervalSeconds: 30 },
    });
    const about = ({ aggregateId }: { aggregateId: string }) => aggregateId === device.id;
    const event = await testApp.waitForMessage('device.enrolled', about);
    expect(event).toMatchObject({ aggregateVersion: 2, orgId, partnerId });
    expect(event.data).toEqual({
      deviceId: device.id,
      hostname: device.hostname,
      osType: 'windows',
      siteId,
      enrollmentKeyId: null,
      agentVersion: null,
    });
    expect(JSON.stringify(await testApp.waitForMessage('device.provision.fetch', about))).not.toContain(authToken);
    expect((await client.get(`/devices/${device.id}`)).body.status).toBe('pending');
    expect((await fetchWith(credentials.fetch_token)).status).toBe(404);
    const agent = testApp.client(authToken);
    expect((await agent.post(`/agents/${agentId}/heartbeat`, { agentVersion: '1.0' })).status).toBe(200);
    expect((await client.get(`/devices/${device.id}`)).body).toMatchObject({ status: 'online', agentVersion: '1.0' });
    await testApp.waitForMessage('device.online', about);
  });

  it('does not use up the token by a HEAD request', async () => {
    const token = await tokenOf();
    const authorization = `Bearer ${await testApp.identity.signIn({ partnerId })}`;
    const url = `${testApp.url}/devices/provision/fetch/${token}`;
    expect((await fetch(url, { method: 'HEAD', headers: { authorization } })).status).toBe(405);
    expect((await fetchWith(token)).status).toBe(200);
  });

  it('gives the identity to one of 20 parallel requests', async () => {
    const token = await tokenOf();
    const responses = await Promise.all(Array.from({ length: 20 }, () => fetchWith(token)));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(19).fill(404)]);
  });

  it('returns 410 for an expired token, 404 for an unknown or foreign one and 400 for a malformed one', async () => {
    const token = await tokenOf();
    const stranger = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    const foreign = await fetchWith(token, stranger);
    const unknown = await fetchWith(randomBytes(32).toString('base64url'));
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' });
    for (const malformed of ['x', 'x'.repeat(44), `${'x'.repeat(42)}%00`, `${'x'.repeat(42)}~`]) {
      const { status, body } = await fetchWith(malformed);
      expect([status, Object.keys(body.details.fieldErrors)]).toEqual([400, ['token']]);
    }
    await testApp.admin.query(`UPDATE device_provision SET expires_at = now()`);
    const expired = await fetchWith(token);
    expect([expired.status, expired.body.code]).toEqual([410, 'gone']);
    expect((await testApp.client().get(`/devices/provision/fetch/${token}`)).status).toBe(401);
  });

  it('returns 404 for the token of a device that is decommissioned', async () => {
    const { device, credentials } = await provision();
    await client.delete(`/devices/${device.id}`);
    expect((await fetchWith(credentials.fetch_token)).status).toBe(404);
  });

  it('refuses the hostname of a device in use, also under parallel requests, and renames a decommissioned one', async () => {
    const hostname = `pc-${randomUUID()}`;
    const bodies = [hostname, hostname.toUpperCase()].flatMap((name) => Array<string>(4).fill(name));
    const all = await Promise.all(bodies.map((name) => client.post('/devices/provision', bodyOf({ hostname: name }))));
    expect(all.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(7).fill(409)]);
    expect(all.find(({ status }) => status === 409)?.body.code).toBe('hostname_collision');
    const id = all.find(({ status }) => status === 201)?.body.device.id as string;
    await client.delete(`/devices/${id}`);
    expect((await provision({ hostname })).device.hostname).toBe(hostname);
    expect((await client.get(`/devices/${id}`)).body.hostname).toMatch(/~[0-9a-f]{8}$/);
  });

  it('never exceeds the device cap of the partner', async () => {
    const capped = await testApp.createPartner({ maxDevices: 2 });
    const owner = await testApp.clientFor({ partnerId: capped });
    const org = (await owner.post('/orgs/organizations', { name: 'Capped' })).body.id as string;
    const site = (await owner.post('/orgs/sites', { orgId: org, name: 'A' })).body.id as string;
    const all = await Promise.all(
      Array.from({ length: 8 }, () => owner.post('/devices/provision', bodyOf({ orgId: org, siteId: site }))),
    );
    expect(all.map(({ status }) => status).sort()).toEqual([201, 201, ...Array<number>(6).fill(403)]);
    expect(all.find(({ status }) => status === 403)?.body.code).toBe('device_limit_reached');
  });

  it('refuses foreign organizations, sites of others and malformed bodies', async () => {
    const other = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    expect((await other.post('/devices/provision', bodyOf())).body.code).toBe('organization_access_denied');
    const named = async (more: object) => {
      const { status, body } = await client.post('/devices/provision', bodyOf(more));
      return [status, ...Object.keys(body.details?.fieldErrors ?? {})];
    };
    expect(await named({ siteId: randomUUID() })).toEqual([400, 'siteId']);
    expect(await named({ siteId: null, hostname: '', osType: 'amiga' })).toEqual([400, 'siteId', 'hostname', 'osType']);
    expect(await named({ orgId: undefined })).toEqual([400, 'orgId']);
  });

  it('returns 403 without the permission and outside of the sites of the caller', async () => {
    const reader = await testApp.clientFor({ partnerId, permissions: ['devices:read'] });
    expect((await reader.post('/devices/provision', bodyOf())).body.required).toEqual(['devices:write']);
    const member = { scope: 'organization', partnerId, orgId } as const;
    const own = await testApp.clientFor({ ...member, siteIds: [siteId] });
    const created = await own.post('/devices/provision', bodyOf({ orgId: undefined }));
    expect(created.status).toBe(201);
    const token = created.body.credentials.fetch_token as string;
    for (const restriction of [{ siteIds: [] }, { deviceGroupIds: [randomUUID()] }]) {
      const restricted = await testApp.clientFor({ ...member, ...restriction });
      expect((await restricted.post('/devices/provision', bodyOf())).body.code).toBe('site_access_denied');
      expect((await fetchWith(token, restricted)).body.code).toBe('site_access_denied');
    }
    expect((await fetchWith(token, own)).status).toBe(200);
  });

  it('leaves devices of other organizations with the hostname alone', async () => {
    const second = (await client.post('/orgs/organizations', { name: 'Second' })).body.id as string;
    const hostname = `pc-${randomUUID()}`;
    await insertDevice(testApp.admin, { partner_id: partnerId, org_id: second, hostname });
    expect((await provision({ hostname })).success).toBe(true);
  });
});
