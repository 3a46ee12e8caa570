import { ApiClient, connectToFleet, createOrganization, partnerWithMfa, type ApiResponse } from '@rmm/testing';
import { must } from '../steps.js';
import { enrollDevice, machine, createApiKey, rateOf } from './machines.js';

describe('an API key', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  let orgId: string;
  let deviceId: string;
  let fields: string;

  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
    orgId = (await createOrganization(client)).orgId;
    deviceId = await enrollDevice(fleet, client, orgId);
    fields = `/devices/${deviceId}/custom-fields`;
  });

  it('reads and writes custom fields, with rate headers on every response', async () => {
    const { id, key } = await createApiKey(client, orgId, { rateLimit: 50 });
    const sync = machine(fleet, key);
    const written = await sync.patch(fields, { asset_tag: 'A-17', leased: true });
    expect(must(written, 200)).toEqual({ customFields: { asset_tag: 'A-17', leased: true } });
    const read = await sync.get(fields);
    expect(must(read, 200).customFields).toEqual({ asset_tag: 'A-17', leased: true });
    const refused = [await sync.patch(fields, { nested: {} }), await sync.get(`/devices/${id}/custom-fields`)];
    expect(refused.map(({ status }) => status)).toEqual([400, 404]);
    const rates = [written, read, ...refused].map(rateOf);
    expect(rates.map(([limit, remaining]) => [limit, remaining])).toEqual([
      [50, 49],
      [50, 48],
      [50, 47],
      [50, 46],
    ]);
    const [, , reset = 0] = rates[0] ?? [];
    expect(reset - Date.now() / 1_000).toBeGreaterThan(3_500);
    expect(reset - Date.now() / 1_000).toBeLessThan(3_610);
  });

  it('responds 403 with rate headers when the scope is missing', async () => {
    const sync = machine(fleet, (await createApiKey(client, orgId, { scopes: ['devices:read'] })).key);
    must(await sync.get(fields), 200);
    const response = await sync.patch(fields, { a: 1 });
    expect([response.status, response.body.code]).toEqual([403, 'api_key_scope_required']);
    expect(response.body.error).toBe('API key does not have required permissions');
    expect(rateOf(response)[0]).toBe(1_000);
    const none = machine(fleet, (await createApiKey(client, orgId, { scopes: [] })).key);
    expect((await none.get(fields)).body.code).toBe('api_key_scope_required');
  });

  it('takes precedence over a bearer token without falling back to it', async () => {
    const good = await createApiKey(client, orgId);
    const bearer = { authorization: 'Bearer not-a-token' };
    must(await new ApiClient(fleet.baseUrl).as({ apiKey: good.key, headers: bearer }).get(fields), 200);
    const signedIn = client.as({ bearer: bearerOf(client), apiKey: `svc_${'x'.repeat(32)}` });
    expect((await signedIn.get(fields)).body.code).toBe('invalid_api_key');
    must(await client.get(fields), 200);
  });

  const bearerOf = (of: ApiClient) => (of as unknown as { credentials: { bearer: string } }).credentials.bearer;

  it('accesses devices of its own organization only', async () => {
    const other = await createOrganization(client);
    const sync = machine(fleet, (await createApiKey(client, other.orgId)).key);
    expect((await sync.get(fields)).status).toBe(404);
    expect((await sync.patch(fields, { a: 1 })).status).toBe(404);
  });

  it('authenticates with MCP and dev push', async () => {
    const keys = {
      ai: await createApiKey(client, orgId, { scopes: ['ai:read'] }),
      push: await createApiKey(client, orgId, { scopes: ['devices:execute'] }),
    };
    const call = (apiKey: string, method: string) =>
      machine(fleet, apiKey).post('/mcp/message', { jsonrpc: '2.0', id: 1, method, params: {} });
    expect(must(await call(keys.ai.key, 'tools/list'), 200).result.tools[0].name).toBe('list_devices');
    expect(await call(keys.push.key, 'ping')).toMatchObject({ status: 403, body: { error: { code: -32001 } } });
    expect(await call('svc_unknown', 'ping')).toMatchObject({ status: 401, body: { error: { code: -32001 } } });
    const push = await machine(fleet, keys.push.key).post('/dev/push', {});
    expect([push.status, push.body.code]).toEqual([400, 'validation_failed']);
    expect((await machine(fleet, keys.ai.key).post('/dev/push', {})).body.code).toBe('api_key_scope_required');
  });

  it.each([
    ['GET', '/devices'],
    ['GET', '/api-keys'],
    ['POST', '/api-keys'],
    ['GET', '/users/me'],
    ['GET', '/orgs/organizations'],
    ['GET', '/webhooks'],
    ['POST', '/service-principals'],
    ['PATCH', '/users/me'],
    ['GET', '/mcp/message'],
  ])('is not accepted on %s %s, which says where it is', async (method, path) => {
    const { key } = await createApiKey(client, orgId);
    const response = await machine(fleet, key).send(method, path, method === 'GET' ? undefined : {});
    expect([response.status, response.body.code]).toEqual([401, 'api_key_not_accepted_here']);
    expect(response.body.message).toBe(
      'API keys are accepted only on POST /mcp/*, POST /dev/push and GET or PATCH /devices/:id/custom-fields.',
    );
    expect(response.headers.get('x-ratelimit-limit')).toBeNull();
  });

  it.each([
    [
      'the partner interface',
      (key: string) => machine(fleet, key).get('/partner-api/organizations'),
      'api_key_not_accepted_here',
    ],
    [
      'a query string',
      (key: string) => new ApiClient(fleet.baseUrl).get(`${fields}?api_key=${key}`),
      'invalid_api_key',
    ],
    [
      'a bearer token',
      (key: string) => new ApiClient(fleet.baseUrl).as({ bearer: key }).get(fields),
      'unauthenticated',
    ],
  ])('is nothing in %s', async (_, call, code) => {
    const { key } = await createApiKey(client, orgId);
    const response: ApiResponse = await call(key);
    expect([response.status, response.body.code]).toEqual([401, code]);
  });

  it('responds 429 on every replica once its limit is used up', async () => {
    const { key } = await createApiKey(client, orgId, { rateLimit: 25 });
    const replicas = (fleet.services.find(({ name }) => name === 'provisioning')?.instances ?? []).map(
      ({ port }) => `http://127.0.0.1:${port}`,
    );
    expect(replicas.length).toBeGreaterThan(1);
    const responses = await Promise.all(
      Array.from({ length: 60 }, (_, i) => machine(fleet, key, replicas[i % replicas.length]).get(fields)),
    );
    const [passed, limited] = [200, 429].map((status) => responses.filter((response) => response.status === status));
    expect([passed?.length, limited?.length]).toEqual([25, 35]);
    for (const response of limited ?? []) {
      expect(response.body.code).toBe('rate_limited');
      const seconds = Number(response.headers.get('retry-after'));
      expect(response.body.retryAfter).toBe(seconds);
      expect(seconds).toBeGreaterThan(3_590);
      expect(seconds).toBeLessThanOrEqual(3_601);
      expect(rateOf(response).slice(0, 2)).toEqual([25, 0]);
    }
  });

  it('responds 429 to an address after 300 invalid keys in a minute, and to no other address', async () => {
    const { key } = await createApiKey(client, orgId);
    const guesser = new ApiClient(fleet.baseUrl);
    const statuses: number[] = [];
    for (let round = 0; round < 32; round++) {
      const batch = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          guesser.as({ apiKey: `svc_${String(round * 10 + i).padStart(32, 'g')}` }).get(fields),
        ),
      );
      statuses.push(...batch.map(({ status }) => status));
    }
    expect(statuses.filter((status) => status === 401)).toHaveLength(300);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    const shut = await guesser.as({ apiKey: key }).get(fields);
    expect([shut.status, shut.body.code]).toEqual([429, 'rate_limited']);
    must(await machine(fleet, key).get(fields), 200);
  });

  it('works from its source addresses only', async () => {
    const [here, there] = [new ApiClient(fleet.baseUrl), new ApiClient(fleet.baseUrl)];
    const { key } = await createApiKey(client, orgId, { sourceCidrs: [`${here.address}/32`] });
    must(await here.as({ apiKey: key }).get(fields), 200);
    const response = await there.as({ apiKey: key }).get(fields);
    expect([response.status, response.body.code]).toEqual([401, 'invalid_api_key']);
  });
});
