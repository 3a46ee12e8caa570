import { createHash, randomUUID } from 'node:crypto';
import http from 'node:http';
import { eventually } from '@rmm/testing-services';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';
import { hasFormParts } from './dto/dev-push-form.dto.js';

const PATH = '/dev/push';
const HOST_OF_DOWNLOADS = 'https://rmm.example/api/v1';

describe('POST /dev/push', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;

  const key = (scopes = ['devices:execute'], org = orgId) =>
    testApp.credentials.mintApiKey({ orgId: org, partnerId, scopes });
  const form = (rawKey: string, agentId: string, content = Buffer.from('build')) =>
    testApp.withKey(rawKey, 'post', PATH).field('agentId', agentId).attach('binary', content, 'agent');
  const countFiles = async () =>
    (await testApp.admin.query('SELECT count(*)::int AS n FROM dev_push_file')).rows[0].n as number;

  /** An enrolled agent. */
  const enroll = async (org = orgId) => {
    const enrollmentKey = testApp.credentials.mint({ orgId: org, partnerId });
    const body = { enrollmentKey, hostname: 'h', osType: 'linux', osVersion: '13', architecture: 'arm64' };
    const response = await testApp.client().post('/agents/enroll', body);
    const { agentId, deviceId, authToken } = response.body as Record<'agentId' | 'deviceId' | 'authToken', string>;
    const client = testApp.client(authToken);
    const takeCommands = async () => (await client.post(`/agents/${agentId}/heartbeat`)).body.commands as Command[];
    return { agentId, deviceId, client, takeCommands };
  };
  interface Command {
    id: string;
    type: string;
    payload: Record<'downloadUrl' | 'checksum' | 'version' | 'component', string>;
  }

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start({
      PUBLIC_API_URL: 'https://rmm.example',
      SECRET_ENCRYPTION_KEY: 'the same for each replica of the spec',
    });
    partnerId = await testApp.createPartner();
    orgId = (await (await testApp.clientFor({ partnerId })).post('/orgs/organizations', { name: 'Acme' })).body.id;
    const probe = key();
    await eventually(async () => expect((await testApp.withKey(probe, 'post', PATH)).status).toBe(400));
  });
  afterAll(() => testApp?.stop());

  it('sends a build of several parts to the agent: a command in one heartbeat, and one download', async () => {
    const agent = await enroll();
    const content = Buffer.from(Array.from({ length: 1_000_000 }, (_, at) => (at * 7) % 251));
    const pushed = await form(key(), agent.agentId, content)
      .field('version', '2.1.0')
      .field('component', 'user-helper');
    const checksum = createHash('sha256').update(content).digest('hex');
    const { commandId, downloadToken } = pushed.body as Record<string, string>;
    const downloadUrl = `${HOST_OF_DOWNLOADS}/dev/push/download/${downloadToken}`;
    const build = { checksum, version: '2.1.0', component: 'user-helper' };
    expect([pushed.status, pushed.body]).toEqual([
      200,
      {
        ...{ commandId, downloadToken, ...build, downloadUrl, wsSent: false },
        ...{ agentId: agent.agentId, deviceId: agent.deviceId },
      },
    ]);
    expect(pushed.headers['cache-control']).toBe('no-store');
    expect(downloadToken).toMatch(/^[\w-]{43}$/);
    const stored = await testApp.admin.query(
      'SELECT p::text || c::text AS text FROM dev_push p JOIN agent_command c USING (device_id) WHERE device_id = $1',
      [agent.deviceId],
    );
    expect(stored.rows[0].text).not.toContain(downloadToken);

    expect(await agent.takeCommands()).toEqual([
      { id: commandId, type: 'dev_push', payload: { downloadUrl, ...build } },
    ]);
    expect(await agent.takeCommands()).toEqual([]);

    const download = await agent.client.get(`/dev/push/download/${downloadToken}`);
    expect([download.status, download.headers['x-checksum-sha256']]).toEqual([200, checksum]);
    expect(download.headers['content-length']).toBe('1000000');
    expect(Buffer.compare(download.body as Buffer, content)).toBe(0);
    expect((await agent.client.get(`/dev/push/download/${downloadToken}`)).status).toBe(404);
    await eventually(async () => expect(await countFiles()).toBe(0));

    const audit = await testApp.waitForMessage('dev.push', ({ aggregateId }) => aggregateId === agent.deviceId);
    expect(audit.data).toMatchObject({
      resourceId: agent.deviceId,
      details: { checksum: checksum.toUpperCase(), bytes: 1_000_000 },
    });
    expect(JSON.stringify(audit)).not.toContain(downloadToken);
  });

  it('sends a build that was pushed at another replica', async () => {
    const replica = await testApp.startReplica();
    try {
      const agent = await enroll();
      const { port } = replica.getHttpServer().address() as { port: number };
      const body = new FormData();
      body.set('agentId', agent.agentId);
      body.set('binary', new Blob(['from the other replica']), 'agent');
      const url = `http://127.0.0.1:${port}/api/v1${PATH}`;
      const pushed = await fetch(url, { method: 'POST', headers: { 'x-api-key': key() }, body });
      const { version, component, checksum } = (await pushed.json()) as Record<string, string>;
      expect([version, component]).toEqual([`dev-${checksum?.slice(0, 12)}`, 'agent']);
      const [command] = await agent.takeCommands();
      const download = await agent.client.get(command.payload.downloadUrl.slice(HOST_OF_DOWNLOADS.length));
      expect((download.body as Buffer).toString()).toBe('from the other replica');
    } finally {
      await replica.close();
    }
  });

  it('gives the build to the agent of the device only, whatever part of the form comes first', async () => {
    const [agent, other] = [await enroll(), await enroll()];
    const pushed = await testApp
      .withKey(key(), 'post', PATH)
      .attach('binary', Buffer.from('build'), 'agent')
      .field('agentId', agent.agentId);
    const path = `/dev/push/download/${pushed.body.downloadToken as string}`;
    expect(await other.takeCommands()).toEqual([]);
    const foreign = await other.client.get(path);
    expect([foreign.status, foreign.body.code]).toEqual([404, 'not_found']);
    const user = await testApp.clientFor({ partnerId });
    for (const client of [testApp.client(), testApp.client('agt_unknown'), user]) {
      expect((await client.get(path)).status).toBe(401);
    }
    expect((await agent.client.get('/dev/push/download/x')).status).toBe(404);
    expect((await agent.client.get(path)).status).toBe(200);
  });

  it('returns 404 after five minutes', async () => {
    const agent = await enroll();
    const pushed = await form(key(), agent.agentId);
    await testApp.admin.query('UPDATE dev_push SET expires_at = now() WHERE device_id = $1', [agent.deviceId]);
    await testApp.admin.query('UPDATE agent_command SET expires_at = now() WHERE device_id = $1', [agent.deviceId]);
    expect(await agent.takeCommands()).toEqual([]);
    expect((await agent.client.get(`/dev/push/download/${pushed.body.downloadToken as string}`)).status).toBe(404);
  });

  it('returns 404 for an unknown, foreign or decommissioned agent and keeps no file', async () => {
    const users = await testApp.clientFor({ partnerId });
    const otherOrg = (await users.post('/orgs/organizations', { name: 'Other' })).body.id as string;
    const [foreign, gone] = [await enroll(otherOrg), await enroll()];
    await users.delete(`/devices/${gone.deviceId}`);
    const before = await countFiles();
    for (const agentId of [randomUUID(), foreign.agentId, gone.agentId]) {
      const response = await form(key(), agentId);
      expect([response.status, response.body.code]).toEqual([404, 'not_found']);
      const last = await testApp
        .withKey(key(), 'post', PATH)
        .attach('binary', Buffer.from('x'), 'a')
        .field('agentId', agentId);
      expect(last.status).toBe(404);
    }
    expect(await countFiles()).toBe(before);
  });

  it('lets users push within their organizations and sites', async () => {
    const agent = await enroll();
    const push = async (user: object) => {
      const body = new FormData();
      body.set('agentId', agent.agentId);
      body.set('binary', new Blob(['x']), 'agent');
      const token = await testApp.identity.signIn({ partnerId, permissions: ['devices:execute'], ...user });
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(testApp.url + PATH, { method: 'POST', headers, body });
      return [response.status, ((await response.json()) as { code?: string }).code];
    };
    expect(await push({})).toEqual([200, undefined]);
    expect(await push({ partnerId: await testApp.createPartner() })).toEqual([404, 'not_found']);
    expect(await push({ orgId, siteIds: [randomUUID()] })).toEqual([403, 'site_access_denied']);
    expect(await push({ orgId, deviceGroupIds: [randomUUID()] })).toEqual([403, 'site_access_denied']);
  });

  it('stores two builds of a partner at a time and refuses a third before it reads the form', async () => {
    const before = await countFiles();
    const [rawKey, { agentId }] = [key(), await enroll()];
    const stalled = [0, 1].map(() => {
      const headers = { 'x-api-key': rawKey, 'content-type': 'multipart/form-data; boundary=b' };
      const request = http.request(testApp.url + PATH, { method: 'POST', headers });
      request.on('error', () => undefined);
      request.write('--b\r\nContent-Disposition: form-data; name="binary"; filename="a"\r\n\r\nstart of the build');
      return request;
    });
    await eventually(async () => expect(await countFiles()).toBe(before + 2));
    const third = await form(rawKey, agentId);
    expect([third.status, third.body.code]).toEqual([429, 'rate_limited']);
    for (const request of stalled) request.destroy();
    await eventually(async () => expect(await countFiles()).toBe(before));
    await eventually(async () => expect((await form(rawKey, agentId)).status).toBe(200));
  });

  it('returns 400 for malformed fields and keeps no file', async () => {
    const { agentId } = await enroll();
    const before = await countFiles();
    const malformed = [
      form(key(), 'x'),
      form(key(), agentId).field('component', 'kernel'),
      form(key(), agentId).field('version', 'v'.repeat(65)),
      form(key(), agentId).field('deviceId', randomUUID()),
    ];
    const fields: string[][] = [];
    for (const request of malformed) {
      const response = await request;
      expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
      fields.push(Object.keys(response.body.details.fieldErrors));
    }
    expect(fields).toEqual([['agentId'], ['component'], ['version'], ['deviceId']]);
    expect(await countFiles()).toBe(before);
  });

  it('returns 400 with the missing parts when the form is absent or empty', async () => {
    const good = key();
    const bodies = [
      testApp.withKey(good, 'post', PATH),
      testApp.withKey(good, 'post', PATH).send({ agentId: 'x' }),
      testApp.withKey(good, 'post', PATH).set('Content-Type', 'multipart/form-data; boundary=b').send('--b--\r\n'),
      testApp.withKey(good, 'post', PATH).set('Content-Type', 'multipart/form-data').send('--b\r\n'),
    ];
    for (const body of bodies) {
      const response = await body;
      expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
      expect(Object.keys(response.body.details.fieldErrors)).toEqual(['agentId', 'binary']);
      expect(response.headers['x-ratelimit-limit']).toBe('1000');
    }
  });

  it('authenticates before it reads the form', async () => {
    const anonymous = await testApp.client().post(PATH);
    expect([anonymous.status, anonymous.body.code]).toEqual([401, 'invalid_api_key']);
    const token = await testApp.identity.signIn({ partnerId });
    const bad = await testApp
      .withKey('svc_bad', 'post', PATH, token)
      .attach('binary', Buffer.alloc(3_000_000), 'agent');
    expect([bad.status, bad.body.code]).toEqual([401, 'invalid_api_key']);
    const scopeless = await form(key(['devices:read', 'devices:write']), randomUUID());
    expect([scopeless.status, scopeless.body.code]).toEqual([403, 'api_key_scope_required']);
    expect(scopeless.body.required).toEqual(['devices:execute']);
  });

  it('requires the permission and a verified factor of a user', async () => {
    const blind = await testApp.clientFor({ partnerId, permissions: ['devices:write'] });
    expect((await blind.post(PATH)).body.code).toBe('permission_denied');
    const unproven = await testApp.clientFor({ partnerId, permissions: ['devices:execute'], mfa: false });
    expect((await unproven.post(PATH)).body.code).toBe('mfa_required');
  });

  it('refuses a key for another method or path', async () => {
    const good = key();
    for (const method of ['get', 'head', 'put', 'patch', 'delete'] as const) {
      expect((await testApp.withKey(good, method, PATH)).status).toBe(404);
    }
    expect((await testApp.withKey(good, 'post', '/dev/push/download/x')).status).toBe(404);
    expect((await testApp.withKey(good, 'post', '/dev')).status).toBe(404);
    expect((await testApp.withKey(good, 'get', '/dev/push/download/x')).status).toBe(401);
  });
});

describe('POST /dev/push where it is disabled', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start({ DEV_PUSH_ENABLED: 'false' });
  });
  afterAll(() => testApp?.stop());

  it('returns 403 dev_push_disabled to an authorized caller', async () => {
    const partnerId = await testApp.createPartner();
    const orgId = (await (await testApp.clientFor({ partnerId })).post('/orgs/organizations', { name: 'Acme' })).body
      .id;
    const key = testApp.credentials.mintApiKey({ orgId, partnerId, scopes: ['devices:execute'] });
    await eventually(async () => {
      const response = await testApp
        .withKey(key, 'post', PATH)
        .field('agentId', randomUUID())
        .attach('binary', Buffer.from('x'), 'a');
      expect([response.status, response.body.code]).toEqual([403, 'dev_push_disabled']);
    });
  });
});

describe('hasFormParts', () => {
  const headers = (contentType: string | undefined, length?: number) => ({
    headers: {
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
      ...(length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) }),
    },
  });

  it.each([
    ['multipart/form-data; boundary=abc', 100, true],
    ['multipart/form-data; charset=utf-8; boundary="a b c"', 100, true],
    ['multipart/form-data; boundary=abc', undefined, true],
    ['multipart/form-data; boundary=abc', '--abc--\r\n'.length, false],
    ['multipart/form-data; boundary=abc', 0, false],
    ['multipart/form-data', 100, false],
    ['application/json', 100, false],
    [undefined, 100, false],
  ])('%p of %p bytes: %p', (contentType, length, expected) => {
    expect(hasFormParts(headers(contentType, length))).toBe(expected);
  });
});
