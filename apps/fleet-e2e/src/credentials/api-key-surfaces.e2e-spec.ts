import { ApiClient, connectToFleet, createOrganization, partnerWithMfa, type ApiResponse } from '@rmm/testing';
import { must } from '../steps.js';
import { enrollDevice, machine, makeApiKey, rateOf } from './machines.js';

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

  it('reads and writes the custom fields of a device, with its rate on every answer', async () => {
    const { id, key } = await makeApiKey(client, orgId, { rateLimit: 50 });
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

  it('needs the scope, and its answer says so with the rate', async () => {
    const sync = machine(fleet, (await makeApiKey(client, orgId, { scopes: ['devices:read'] })).key);
    must(await sync.get(fields), 200);
    const answer = await sync.patch(fields, { a: 1 });
    expect([answer.status, answer.body.code]).toEqual([403, 'api_key_scope_required']);
    expect(answer.body.error).toBe('API key does not have required permissions');
    expect(rateOf(answer)[0]).toBe(1_000);
    const none = machine(fleet, (await makeApiKey(client, orgId, { scopes: [] })).key);
    expect((await none.get(fields)).body.code).toBe('api_key_scope_required');
  });

  it('wins over a bearer token, and does not fall back to it', async () => {
    const good = await makeApiKey(client, orgId);
    const bearer = { authorization: 'Bearer not-a-token' };
    must(await new ApiClient(fleet.baseUrl).as({ apiKey: good.key, headers: bearer }).get(fields), 200);
    const signedIn = client.as({ bearer: bearerOf(client), apiKey: `svc_${'x'.repeat(32)}` });
    expect((await signedIn.get(fields)).body.code).toBe('invalid_api_key');
    must(await client.get(fields), 200);
  });

  const bearerOf = (of: ApiClient) => (of as unknown as { credentials: { bearer: string } }).credentials.bearer;

  it('knows the devices of its own organization only', async () => {
    const other = await createOrganization(client);
    const sync = machine(fleet, (await makeApiKey(client, other.orgId)).key);
    expect((await sync.get(fields)).status).toBe(404);
    expect((await sync.patch(fields, { a: 1 })).status).toBe(404);
  });

  it('authenticates with MCP and dev push', async () => {
    const keys = {
      ai: await makeApiKey(client, orgId, { scopes: ['ai:read'] }),
      push: await makeApiKey(client, orgId, { scopes: ['devices:execute'] }),
    };
    const call = (apiKey: string, method: string) =>
      machine(fleet, apiKey).post('/mcp/message', { jsonrpc: '2.0', id: 1, method, params: {} });
    expect(must(await call(keys.ai.key, 'tools/list'), 200).result).toEqual({ tools: [] });
    expect(await call(keys.push.key, 'ping')).toMatchObject({ status: 403, body: { error: { code: -32001 } } });
    expect(await call('svc_nobody', 'ping')).toMatchObject({ status: 401, body: { error: { code: -32001 } } });
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
    const { key } = await makeApiKey(client, orgId);
    const answer = await machine(fleet, key).send(method, path, method === 'GET' ? undefined : {});
    expect([answer.status, answer.body.code]).toEqual([401, 'api_key_not_accepted_here']);
    expect(answer.body.message).toBe(
      'API keys are accepted only on POST /mcp/*, POST /dev/push and GET or PATCH /devices/:id/custom-fields.',
    );
    expect(answer.headers.get('x-ratelimit-limit')).toBeNull();
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
    const { key } = await makeApiKey(client, orgId);
    const answer: ApiResponse = await call(key);
    expect([answer.status, answer.body.code]).toEqual([401, code]);
  });

  it('is refused after its limit, on whichever replica, until the window opens again', async () => {
    const { key } = await makeApiKey(client, orgId, { rateLimit: 25 });
    const replicas = (fleet.services.find(({ name }) => name === 'provisioning')?.instances ?? []).map(
      ({ port }) => `http://127.0.0.1:${port}`,
    );
    expect(replicas.length).toBeGreaterThan(1);
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => machine(fleet, key, replicas[i % replicas.length]).get(fields)),
    );
    const [passed, limited] = [200, 429].map((status) => answers.filter((answer) => answer.status === status));
    expect([passed?.length, limited?.length]).toEqual([25, 35]);
    for (const answer of limited ?? []) {
      expect(answer.body.code).toBe('rate_limited');
      const seconds = Number(answer.headers.get('retry-after'));
      expect(answer.body.retryAfter).toBe(seconds);
      expect(seconds).toBeGreaterThan(3_590);
      expect(seconds).toBeLessThanOrEqual(3_601);
      expect(rateOf(answer).slice(0, 2)).toEqual([25, 0]);
    }
  });

  it('that is guessed three hundred times a minute shuts its address out, and nobody else', async () => {
    const { key } = await makeApiKey(client, orgId);
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

  it('works only from its addresses', async () => {
    const [here, there] = [new ApiClient(fleet.baseUrl), new ApiClient(fleet.baseUrl)];
    const { key } = await makeApiKey(client, orgId, { sourceCidrs: [`${here.address}/32`] });
    must(await here.as({ apiKey: key }).get(fields), 200);
    const answer = await there.as({ apiKey: key }).get(fields);
    expect([answer.status, answer.body.code]).toEqual([401, 'invalid_api_key']);
  });
});
