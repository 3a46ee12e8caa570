import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import { GatewayTestApp } from '../../test/gateway-test-app.js';

const PATHS = ['/mcp/message', '/mcp/sse'];
const METHODS = ['get', 'head', 'put', 'patch', 'delete', 'options'] as const;

describe('/mcp', () => {
  let service: GatewayTestApp;
  let key: string;

  const send = (message: object | string, given: string | undefined = key, path = '/mcp/message') =>
    service.request('post', path, given).set('Content-Type', 'application/json').send(message);
  const call = (method: string, params?: object, given = key, path?: string) =>
    send({ jsonrpc: '2.0', id: 7, method, ...(params && { params }) }, given, path);
  const rpcError = ({ status, body }: { status: number; body: { error: { code: number } } }) => [
    status,
    body.error?.code,
  ];

  beforeAll(async () => {
    service = await GatewayTestApp.start();
    key = service.createApiKey({ scopes: ['ai:read'] });
    await eventually(async () => expect((await call('ping')).status).toBe(200));
  }, 60_000);
  afterAll(() => service?.stop());

  it.each(PATHS)('initializes a client at %s and lists no tools, resources or prompts', async (path) => {
    const params = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'spec', version: '1' } };
    const welcome = await call('initialize', params, key, path);
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
    const initialized = await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, key, path);
    expect([initialized.status, initialized.text]).toEqual([202, '']);
    for (const [method, result] of [
      ['ping', {}],
      ['tools/list', { tools: [] }],
      ['resources/list', { resources: [] }],
      ['prompts/list', { prompts: [] }],
    ] as const) {
      const response = await call(method, undefined, key, path);
      expect([response.status, response.body]).toEqual([200, { jsonrpc: '2.0', id: 7, result }]);
    }
  });

  it('accepts any notification with an empty response', async () => {
    for (const method of ['notifications/cancelled', 'tools/call', 'nonsense']) {
      const response = await send({ jsonrpc: '2.0', method });
      expect([response.status, response.text]).toEqual([202, '']);
    }
  });

  it.each([
    ['tools/call', { name: 'list_devices', arguments: {} }, -32602],
    ['resources/read', { uri: 'rmm://devices' }, -32602],
    ['prompts/get', { name: 'review-device' }, -32602],
    ['sampling/createMessage', {}, -32601],
    ['constructor', {}, -32601],
  ])('refuses %s with 200 and its code', async (method, params, code) => {
    const response = await call(method, params);
    expect(rpcError(response)).toEqual([200, code]);
    expect(response.body.id).toBe(7);
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
    for (const path of ['/mcp/message/', '/MCP/Message']) {
      expect((await call('ping', undefined, key, path)).status).toBe(200);
      expect((await call('ping', undefined, 'svc_bad', path)).status).toBe(401);
    }
  });

  it('records each call once, by method, without its parameters', async () => {
    const keyId = randomUUID();
    const auditEntry = service.createApiKey({ keyId, scopes: ['ai:read'] });
    await call('tools/list', { cursor: 'nobody repeats this' }, auditEntry);
    await call('tools/call', { name: 'nobody repeats this' }, auditEntry);
    await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, auditEntry);
    const rows = await eventually(() => {
      const found = service.auditEntries.filter(({ actor }) => actor?.id === keyId);
      expect(found).toHaveLength(3);
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
    expect(published).toHaveLength(3);
    expect(published).toEqual(
      expect.arrayContaining([row('tools/list'), row('tools/call', 'failure'), row('notifications/initialized')]),
    );
    expect(JSON.stringify(service.auditEntries)).not.toContain('nobody repeats this');
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
