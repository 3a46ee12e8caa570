import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { PROVISIONING_MCP_GET_DEVICE, PROVISIONING_MCP_LIST_DEVICES, PROVISIONING_MCP_SET_TAGS } from '@rmm/contracts';
import { NotFoundError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { DEVICE } from '../../test/fake-mcp-data.js';
import { GatewayTestApp } from '../../test/gateway-test-app.js';
import { McpSessions } from './sessions/mcp-sessions.service.js';

const PATHS = ['/mcp/message', '/mcp/sse'];
const METHODS = ['get', 'head', 'put', 'patch', 'delete', 'options'] as const;
const INITIALIZE = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'spec', version: '1' } };
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

describe('/mcp', () => {
  let service: GatewayTestApp;
  let replica: INestApplication;
  let key: string;

  const send = (message: object | string, given: string | undefined = key, path = '/mcp/message') =>
    service.request('post', path, given).set('Content-Type', 'application/json').send(message);
  const call = (method: string, params?: object, given = key, path?: string) =>
    send({ jsonrpc: '2.0', id: 7, method, ...(params && { params }) }, given, path);
  /** Calls a method of the generation without sessions. */
  const callStateless = (method: string, params: object = {}, headers: Record<string, string> = {}, path?: string) =>
    call(method, { _meta: META, ...params }, key, path).set({
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      ...headers,
    });
  const rpcError = ({ status, body }: { status: number; body: { error: { code: number } } }) => [
    status,
    body.error?.code,
  ];
  const openSession = async (given = key) =>
    (await call('initialize', INITIALIZE, given, '/mcp/sse')).headers['mcp-session-id'];

  beforeAll(async () => {
    service = await GatewayTestApp.start({ MCP_MESSAGES_PER_MINUTE: '1000', MCP_STREAMS_PER_MINUTE: '1000' });
    replica = await service.startReplica();
    key = service.createApiKey({ scopes: ['ai:read', 'ai:write'] });
    service.serve(PROVISIONING_MCP_LIST_DEVICES, () => ({ items: [DEVICE], total: 1, nextCursor: null }));
    service.serve(PROVISIONING_MCP_GET_DEVICE, ({ deviceId }) => {
      if (deviceId !== DEVICE.id) throw new NotFoundError('Device');
      return DEVICE;
    });
    service.serve(PROVISIONING_MCP_SET_TAGS, ({ tags }) => ({ tags }));
    await eventually(async () => expect((await call('ping')).status).toBe(200));
  });
  afterAll(async () => {
    await replica?.close();
    await service?.stop();
  });

  it.each(PATHS)('initializes a client at %s and states what it offers', async (path) => {
    const fresh = service.createApiKey({ scopes: ['ai:read'] });
    const welcome = await call('initialize', INITIALIZE, fresh, path);
    expect([welcome.status, welcome.body]).toEqual([
      200,
      {
        jsonrpc: '2.0',
        id: 7,
        result: {
          protocolVersion: '2024-11-05',
          capabilities: {
            tools: { listChanged: false },
            resources: { listChanged: false },
            prompts: { listChanged: false },
          },
          serverInfo: { name: expect.any(String), version: expect.any(String) },
          instructions: expect.any(String),
        },
      },
    ]);
    const sessionId = welcome.headers['mcp-session-id'] as string | undefined;
    if (path === '/mcp/sse') expect(sessionId).toMatch(/^mcp_[A-Za-z0-9_-]{32}$/);
    else expect(sessionId).toBeUndefined();
    const next = (message: object) => send(message, fresh, path).set(sessionId ? { 'Mcp-Session-Id': sessionId } : {});
    const initialized = await next({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect([initialized.status, initialized.text]).toEqual([202, '']);
    for (const [method, result] of [
      ['ping', {}],
      ['tools/list', { tools: expect.arrayContaining([expect.objectContaining({ name: 'list_devices' })]) }],
      ['resources/list', { resources: expect.arrayContaining([expect.objectContaining({ uri: 'rmm://devices' })]) }],
      ['prompts/list', { prompts: expect.arrayContaining([expect.objectContaining({ name: 'review-device' })]) }],
    ] as const) {
      const response = await next({ jsonrpc: '2.0', id: 7, method });
      expect([response.status, response.body]).toEqual([200, { jsonrpc: '2.0', id: 7, result }]);
    }
  });

  it('calls tools, reads resources and writes prompts', async () => {
    const listed = await call('tools/call', { name: 'list_devices', arguments: { limit: 1 } });
    expect(listed.body.result.structuredContent).toEqual({
      devices: [expect.objectContaining({ id: DEVICE.id })],
      total: 1,
      nextCursor: null,
    });
    const tagged = await call('tools/call', {
      name: 'set_device_tags',
      arguments: { deviceId: DEVICE.id, tags: ['a'] },
    });
    expect([tagged.status, tagged.body.result.structuredContent]).toEqual([200, { tags: ['a'] }]);
    const read = await call('resources/read', { uri: `rmm://devices/${DEVICE.id}` });
    expect(JSON.parse(read.body.result.contents[0].text)).toEqual(DEVICE);
    const prompt = await call('prompts/get', { name: 'review-device', arguments: { deviceId: DEVICE.id } });
    expect(prompt.body.result.messages[0].content.text).toContain(DEVICE.id);
  });

  it('accepts any notification with an empty response', async () => {
    for (const method of ['notifications/cancelled', 'tools/call', 'nonsense']) {
      const response = await send({ jsonrpc: '2.0', method });
      expect([response.status, response.text]).toEqual([202, '']);
    }
  });

  it.each([
    ['tools/call', { name: 'list_patches', arguments: {} }, -32602],
    ['tools/call', { name: 'get_device', arguments: { deviceId: randomUUID() } }, -32602],
    ['tools/call', { name: 'get_device', arguments: { deviceId: 'x' } }, -32602],
    ['tools/call', { name: 'run_script', arguments: {} }, -32603],
    ['tools/call', {}, -32602],
    ['resources/read', { uri: 'rmm://patches' }, -32602],
    ['resources/read', { uri: `rmm://devices/${randomUUID()}` }, -32602],
    ['prompts/get', { name: 'none' }, -32602],
    ['prompts/get', { name: 'review-device' }, -32602],
    ['tools/list', { cursor: 'x' }, -32602],
    ['sampling/createMessage', {}, -32601],
    ['server/discover', {}, -32601],
    ['constructor', {}, -32601],
  ])('refuses %s with %j with 200 and its code', async (method, params, code) => {
    const response = await call(method, params);
    expect(rpcError(response)).toEqual([200, code]);
    expect(response.body.id).toBe(7);
  });

  it('returns -32010 for a tool that a user must approve', async () => {
    const executor = service.createApiKey({ scopes: ['ai:read', 'ai:execute'] });
    const response = await call('tools/call', { name: 'run_script', arguments: {} }, executor);
    expect([rpcError(response), response.body.error.data.code]).toEqual([[200, -32010], 'approval_required']);
  });

  it('returns 503 and -32000 when the service that owns the data does not reply', async () => {
    const response = await call('tools/call', { name: 'list_sites' });
    expect([rpcError(response), response.headers['retry-after']]).toEqual([[503, -32000], '1']);
  });

  describe('in a session', () => {
    const ping = (sessionId?: string, given = key, app?: INestApplication) => {
      const request = service.request('post', '/mcp/sse', given, app).send({ jsonrpc: '2.0', id: 7, method: 'ping' });
      return sessionId === undefined ? request : request.set('Mcp-Session-Id', sessionId);
    };

    it('serves its key on every replica, and refuses calls without it and with another key', async () => {
      const session = await openSession(service.createApiKey({ scopes: ['ai:read'] }));
      const [own, other] = [
        service.createApiKey({ scopes: ['ai:read'] }),
        service.createApiKey({ scopes: ['ai:read'] }),
      ];
      const owned = await openSession(own);
      for (const app of [service.app, replica]) {
        expect((await ping(owned, own, app)).status).toBe(200);
        const without = await ping(undefined, own, app);
        expect([rpcError(without), without.body.error.data.code]).toEqual([[400, -32600], 'mcp_session_required']);
        const foreign = await ping(owned, other, app);
        expect([rpcError(foreign), foreign.body.error.data.code]).toEqual([
          [403, -32001],
          'mcp_session_of_another_key',
        ]);
        const unknown = await ping(`mcp_${'x'.repeat(32)}`, own, app);
        expect([rpcError(unknown), unknown.body.error.data.code]).toEqual([[404, -32600], 'mcp_session_not_found']);
      }
      expect((await ping(session, own)).status).toBe(403);
    });

    it('needs the session for notifications too', async () => {
      const own = service.createApiKey({ scopes: ['ai:read'] });
      const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
      expect(rpcError(await send(notification, own, '/mcp/sse'))).toEqual([400, -32600]);
      const session = await openSession(own);
      expect((await send(notification, own, '/mcp/sse').set('Mcp-Session-Id', session)).status).toBe(202);
    });

    it('ends by age', async () => {
      const own = service.createApiKey({ scopes: ['ai:read'] });
      const session = await openSession(own);
      const sessions = service.app.get(McpSessions);
      sessions.clockOffsetSeconds = 661;
      const ended = await ping(session, own);
      sessions.clockOffsetSeconds = 0;
      expect(rpcError(ended)).toEqual([404, -32600]);
    });

    it('ignores an id that the client chose', async () => {
      const chosen = `mcp_${'c'.repeat(32)}`;
      const own = service.createApiKey({ scopes: ['ai:read'] });
      const welcome = await call('initialize', INITIALIZE, own, '/mcp/sse').set('Mcp-Session-Id', chosen);
      expect(welcome.status).toBe(200);
      expect(welcome.headers['mcp-session-id']).not.toBe(chosen);
      expect((await ping(chosen, own)).status).toBe(404);
    });

    it('is one of five', async () => {
      const own = service.createApiKey({ scopes: ['ai:read'] });
      for (let n = 0; n < 5; n += 1) expect(await openSession(own)).toBeDefined();
      const refused = await call('initialize', INITIALIZE, own, '/mcp/sse');
      expect([rpcError(refused), refused.headers['mcp-session-id']]).toEqual([[429, -32000], undefined]);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(600);
      expect((await call('initialize', INITIALIZE, own)).status).toBe(200);
    });

    it('is checked on /mcp/message when it is named', async () => {
      const own = service.createApiKey({ scopes: ['ai:read'] });
      const session = await openSession(own);
      expect((await call('ping', undefined, own, `/mcp/message?sessionId=${session}`)).status).toBe(200);
      expect((await call('ping', undefined, key, `/mcp/message?sessionId=${session}`)).status).toBe(403);
      for (const query of ['sessionId=x', 'sessionId=a&sessionId=b']) {
        expect((await call('ping', undefined, own, `/mcp/message?${query}`)).status).toBe(404);
      }
    });
  });

  describe('without sessions', () => {
    it.each(PATHS)('serves messages of 2026-07-28 at %s', async (path) => {
      const discovered = await callStateless('server/discover', {}, {}, path);
      expect([discovered.status, discovered.body.result]).toMatchObject([
        200,
        { resultType: 'complete', supportedVersions: ['2026-07-28', '2024-11-05'], cacheScope: 'private' },
      ]);
      const listed = await callStateless('tools/list', {}, {}, path);
      expect(listed.body.result).toMatchObject({ resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' });
      const named = { name: 'get_device', arguments: { deviceId: DEVICE.id } };
      const called = await callStateless('tools/call', named, { 'Mcp-Name': 'get_device' }, path);
      expect(called.body.result.structuredContent).toEqual({ device: DEVICE });
      for (const response of [discovered, listed, called]) {
        expect(response.headers['mcp-session-id']).toBeUndefined();
        expect(response.body.result._meta).toEqual({
          'io.modelcontextprotocol/serverInfo': { name: 'rmm', version: '1.0.0' },
        });
      }
    });

    it('refuses headers that differ from the body, other versions and unknown methods with their statuses', async () => {
      const mismatch = await callStateless('tools/list', {}, { 'Mcp-Method': 'prompts/list' });
      expect([rpcError(mismatch), mismatch.body.id]).toEqual([[400, -32020], 7]);
      const version = { 'io.modelcontextprotocol/protocolVersion': '1900-01-01' };
      const old = await callStateless(
        'tools/list',
        { _meta: { ...META, ...version } },
        { 'MCP-Protocol-Version': '1900-01-01' },
      );
      expect([rpcError(old), old.body.error.data.supported]).toEqual([
        [400, -32022],
        ['2026-07-28', '2024-11-05'],
      ]);
      expect(rpcError(await callStateless('ping'))).toEqual([404, -32601]);
      expect(rpcError(await callStateless('initialize', INITIALIZE))).toEqual([404, -32601]);
    });

    it('ignores a session that the client names', async () => {
      expect((await callStateless('tools/list', {}, { 'Mcp-Session-Id': 'x' }, '/mcp/sse')).status).toBe(200);
    });
  });

  describe('as an event stream', () => {
    const accepting = (
      accept: string,
      path = '/mcp/sse',
      message: object = { jsonrpc: '2.0', id: 7, method: 'initialize' },
    ) => {
      const own = service.createApiKey({ scopes: ['ai:read'] });
      return send(message, own, path)
        .set('Accept', accept)
        .buffer(true)
        .parse((response, done) => {
          let text = '';
          response.on('data', (chunk: Buffer) => (text += chunk.toString()));
          response.on('end', () => done(null, text));
        });
    };

    it.each(['text/event-stream', 'text/event-stream, application/json', 'application/json;q=0.5, text/event-stream'])(
      'responds where Accept is %s',
      async (accept) => {
        const response = await accepting(accept);
        expect([response.status, response.headers['content-type']]).toEqual([
          200,
          expect.stringMatching(/^text\/event-stream/),
        ]);
        expect(response.headers['x-accel-buffering']).toBe('no');
        expect(response.headers['mcp-session-id']).toMatch(/^mcp_/);
        const [event, data = '', ...end] = (response.body as string).split('\n');
        expect([event, end]).toEqual(['event: message', ['', '']]);
        expect(JSON.parse(data.slice('data: '.length))).toMatchObject({
          id: 7,
          result: { protocolVersion: '2024-11-05' },
        });
      },
    );

    it.each(['application/json, text/event-stream', 'application/json', '*/*', 'text/html'])(
      'does not respond where Accept is %s',
      async (accept) => {
        expect((await accepting(accept)).headers['content-type']).toMatch(/^application\/json/);
      },
    );

    it('does not respond on /mcp/message, to notifications and with errors of the request', async () => {
      const stream = 'text/event-stream';
      expect((await accepting(stream, '/mcp/message')).headers['content-type']).toMatch(/^application\/json/);
      const refused = await accepting(stream, '/mcp/sse', { jsonrpc: '2.0', id: 7, method: 'ping' });
      expect([refused.status, refused.headers['content-type']]).toEqual([
        400,
        expect.stringMatching(/^application\/json/),
      ]);
    });
  });

  it('sends rate headers with every response to a valid key', async () => {
    const fresh = service.createApiKey({ scopes: ['ai:read'], rateLimit: 5 });
    const responses = [await call('ping', undefined, fresh), await call('x', undefined, fresh), await send('{', fresh)];
    expect(responses.map(({ headers }) => headers['x-ratelimit-remaining'])).toEqual(['4', '3', '2']);
  });

  it('returns 401 and -32001 without a key, for an inactive key and for a partner key', async () => {
    const inactive = [
      service.createApiKey({ scopes: ['ai:read'], status: 'revoked' }),
      `svc_${'x'.repeat(43)}`,
      `svc_sp_${'x'.repeat(43)}`,
      'nothing',
      '',
    ];
    for (const given of inactive) {
      for (const path of PATHS) expect(rpcError(await call('ping', undefined, given, path))).toEqual([401, -32001]);
    }
    const anonymous = await service.request('post', '/mcp/message').send({ jsonrpc: '2.0', id: 7, method: 'ping' });
    expect(rpcError(anonymous)).toEqual([401, -32001]);
    expect(anonymous.body).toMatchObject({ jsonrpc: '2.0', id: null, error: { data: { code: 'invalid_api_key' } } });
    expect(anonymous.headers['www-authenticate']).toBe('ApiKey realm="rmm", header="X-API-Key"');
  });

  it('returns 401 for user tokens, alone and with an invalid key', async () => {
    const bearer = 'Bearer eyJhbGciOiJFUzI1NiJ9.e30.x';
    const alone = await service.request('post', '/mcp/message').set('Authorization', bearer).send({});
    expect([rpcError(alone), alone.body.error.data.code]).toEqual([[401, -32001], 'invalid_api_key']);
    expect(rpcError(await send({}, 'svc_bad').set('Authorization', bearer))).toEqual([401, -32001]);
  });

  it('returns 403 and -32001 without ai:read, before the message is read', async () => {
    const scopeless = service.createApiKey({ scopes: ['devices:read', 'ai:execute', 'ai:*', '*'] });
    for (const message of [{ jsonrpc: '2.0', id: 7, method: 'ping' }, '{', {}]) {
      const response = await send(message, scopeless);
      expect([rpcError(response), response.body.error.data.code]).toEqual([[403, -32001], 'api_key_scope_required']);
      expect(response.headers['x-ratelimit-limit']).toBe('1000');
    }
  });

  it('returns 429 and -32000 beyond the limit of the key', async () => {
    const once = service.createApiKey({ scopes: ['ai:read'], rateLimit: 1 });
    expect((await call('ping', undefined, once)).status).toBe(200);
    const refused = await call('ping', undefined, once);
    expect(rpcError(refused)).toEqual([429, -32000]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(refused.headers['x-ratelimit-remaining']).toBe('0');
  });

  it('returns 400 and -32700 for malformed JSON, -32600 for an invalid envelope', async () => {
    expect(rpcError(await send('{"jsonrpc":'))).toEqual([400, -32700]);
    for (const envelope of [{}, { jsonrpc: '2.0', id: null, method: 'ping' }, [{ jsonrpc: '2.0', id: 1, method: 'a' }]])
      expect(rpcError(await send(envelope))).toEqual([400, -32600]);
    expect(rpcError(await service.request('post', '/mcp/message', key))).toEqual([400, -32600]);
  });

  it('returns 413 and -32600 for a message over 64 KB, with or without a length', async () => {
    const message = (size: number) => JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'x'.repeat(size) });
    expect(rpcError(await send(message(64_000)))).toEqual([200, -32601]);
    expect(rpcError(await send(message(65_536)))).toEqual([413, -32600]);
    expect(rpcError(await send(message(65_536), key, '/mcp/sse'))).toEqual([413, -32600]);
    const chunked = service.request('post', '/mcp/sse', key).set('Content-Type', 'application/json');
    chunked.write(message(65_536));
    expect(rpcError(await chunked)).toEqual([413, -32600]);
  });

  it.each(['/mcp', '/mcp/', ...PATHS, '/mcp/other/path'])(
    'returns 405 for other methods than POST at %s',
    async (path) => {
      for (const method of METHODS) {
        const without = await service.request(method, path);
        expect([without.status, without.headers.allow]).toEqual([405, 'POST']);
        const withKey = await service.request(method, path, key);
        expect(withKey.status).toBe(401);
        expect(withKey.headers['x-ratelimit-limit']).toBeUndefined();
        expect(withKey.headers['www-authenticate']).not.toMatch(/bearer|resource_metadata/i);
        if (method === 'head') continue;
        expect(without.body.code).toBe('method_not_allowed');
        expect(withKey.body).toMatchObject({
          code: 'api_key_not_accepted_here',
          error: 'API keys are not accepted here',
        });
        const both = await service.request(method, path, key).set('Authorization', 'Bearer x');
        expect(both.body.code).toBe('api_key_not_accepted_here');
      }
    },
  );

  it('returns 404 for other paths, however they are spelled', async () => {
    for (const path of ['/mcp', '/mcp/other', '/mcp/message/more', '/mcp/mess%61ge']) {
      const withKey = await call('ping', undefined, key, path);
      expect([withKey.status, withKey.body.code]).toEqual([401, 'api_key_not_accepted_here']);
      expect((await service.request('post', path).send({})).body.code).toBe('not_found');
    }
    for (const path of ['/mcp/message/', '/MCP/Message', '/mcp/message?x=y']) {
      expect((await call('ping', undefined, key, path)).status).toBe(200);
      expect((await call('ping', undefined, 'svc_bad', path)).status).toBe(401);
    }
  });

  it('records each call once, by method, without its parameters', async () => {
    const keyId = randomUUID();
    const auditEntry = service.createApiKey({ keyId, scopes: ['ai:read'] });
    await call('prompts/list', { more: 'never repeated' }, auditEntry);
    await call('tools/call', { name: 'never repeated' }, auditEntry);
    await call('resources/read', { uri: 'never repeated' }, auditEntry, '/mcp/sse');
    await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, auditEntry);
    const rows = await eventually(() => {
      const found = service.auditEntries.filter(({ actor }) => actor?.id === keyId);
      expect(found).toHaveLength(4);
      return found;
    });
    const published = rows.map(({ type, actor, data }) => {
      const { resourceName, details, result } = data as { resourceName: string; details: object; result: string };
      return { type, actorType: actor?.type, resourceName, details, result };
    });
    const row = (method: string, result = 'success') => ({
      type: 'mcp.request',
      actorType: 'api_key',
      resourceName: method,
      details: { method },
      result,
    });
    expect(published).toHaveLength(4);
    expect(published).toEqual(
      expect.arrayContaining([
        row('prompts/list'),
        row('tools/call', 'failure'),
        row('resources/read', 'failure'),
        row('notifications/initialized'),
      ]),
    );
    expect(JSON.stringify(service.auditEntries)).not.toContain('never repeated');
  });

  it('records calls of tools that change something, without their arguments', async () => {
    const keyId = randomUUID();
    const writer = service.createApiKey({ keyId, scopes: ['ai:read', 'ai:write'] });
    await call(
      'tools/call',
      { name: 'set_device_tags', arguments: { deviceId: DEVICE.id, tags: ['never repeated'] } },
      writer,
    );
    const row = await eventually(() => {
      const found = service.auditEntries.find(({ type, actor }) => type === 'mcp.tool' && actor?.id === keyId);
      if (!found) throw new Error('no entry yet');
      return found;
    });
    expect(row.data).toMatchObject({
      resourceName: 'set_device_tags',
      details: { tool: 'set_device_tags', tier: 2 },
      result: 'success',
    });
    expect(JSON.stringify(service.auditEntries)).not.toContain('never repeated');
  });

  it('gives no access to the partner interface', async () => {
    const response = await service.request('get', '/partner-api/sites', key);
    expect([response.status, response.body.code]).toEqual([401, 'api_key_not_accepted_here']);
  });

  it('returns 503 and -32000 when the limit of a key cannot be read', async () => {
    await service.stores.redis.stop();
    const response = await call('ping');
    expect([rpcError(response), response.headers['retry-after']]).toEqual([[503, -32000], '1']);
  });
});
