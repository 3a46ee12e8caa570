import { ApiClient, connectToFleet, partnerWithMfa, untilStatus } from '@rmm/testing';
import { must } from '../steps.js';
import { machine, rateOf } from './machines.js';

const PRINCIPALS = '/partner-service-principals';

describe('a partner key at the gateway', () => {
  const fleet = connectToFleet();
  let client: ApiClient;

  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
  });

  async function principal(more: object = {}): Promise<string> {
    const name = `Exporter ${Math.random()}`;
    return must(await client.post(PRINCIPALS, { name, ...more }), 201).data.id as string;
  }
  const issue = async (id: string, more: object = {}) =>
    must(await client.post(`${PRINCIPALS}/${id}/keys`, { name: 'k', ...more }), 201) as { keyId: string; key: string };
  const read = (key: string) => machine(fleet, key).get('/partner-api/organizations');
  const refused = async (key: string) => {
    const response = await untilStatus(() => read(key), 401);
    expect(response.body.code).toBe('partner_api_invalid_credentials');
  };

  it('reads with rate headers on every response', async () => {
    const { key } = await issue(await principal(), { rateLimit: 3 });
    const responses = [await read(key), await read(key), await read(key), await read(key)];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(responses.map((response) => rateOf(response)[1])).toEqual([2, 1, 0, 0]);
    expect(responses[3]?.body.code).toBe('partner_api_rate_limited');
  });

  it('responds 403 when the scope is missing', async () => {
    const { key } = await issue(await principal({ scopes: ['sites:read'] }));
    const response = await read(key);
    expect([response.status, response.body.code, response.body.required]).toEqual([
      403,
      'partner_api_scope_required',
      ['organizations:read'],
    ]);
    must(await machine(fleet, key).get('/partner-api/sites'), 200);
  });

  it('stops while its principal is disabled, and follows changes of the principal', async () => {
    const id = await principal();
    const { key } = await issue(id);
    must(await read(key), 200);
    must(await client.patch(`${PRINCIPALS}/${id}`, { status: 'disabled' }), 200);
    await refused(key);
    must(await client.patch(`${PRINCIPALS}/${id}`, { status: 'active' }), 200);
    await untilStatus(() => read(key), 200);
    must(await client.patch(`${PRINCIPALS}/${id}`, { scopes: ['sites:read'] }), 200);
    await untilStatus(() => read(key), 403);
  });

  it('is replaced by a rotation and ends with a revocation', async () => {
    const id = await principal();
    const { keyId, key } = await issue(id);
    must(await read(key), 200);
    const rotated = must(await client.post(`${PRINCIPALS}/${id}/keys/${keyId}/rotate`), 200);
    await refused(key);
    must(await read(rotated.key as string), 200);
    must(await client.delete(`${PRINCIPALS}/${id}/keys/${rotated.keyId}`), 200);
    await refused(rotated.key as string);
  });

  it('works from the source addresses of its principal only', async () => {
    const [here, there] = [new ApiClient(fleet.baseUrl), new ApiClient(fleet.baseUrl)];
    const { key } = await issue(await principal({ sourceCidrs: [`${here.address}/32`] }));
    const from = (address: ApiClient) => address.as({ apiKey: key }).get('/partner-api/organizations');
    must(await from(here), 200);
    expect((await from(there)).body.code).toBe('partner_api_invalid_credentials');
  });

  it('is rejected where API keys are accepted', async () => {
    const { key } = await issue(await principal());
    const response = await machine(fleet, key).get('/devices/00000000-0000-4000-8000-000000000000/custom-fields');
    expect([response.status, response.body.code]).toEqual([401, 'invalid_api_key']);
  });
});
