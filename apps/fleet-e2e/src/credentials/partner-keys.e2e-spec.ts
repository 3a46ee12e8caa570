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
    const answer = await untilStatus(() => read(key), 401);
    expect(answer.body.code).toBe('partner_api_invalid_credentials');
  };

  it('reads with its rate on every answer', async () => {
    const { key } = await issue(await principal(), { rateLimit: 3 });
    const answers = [await read(key), await read(key), await read(key), await read(key)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers.map((answer) => rateOf(answer)[1])).toEqual([2, 1, 0, 0]);
    expect(answers[3]?.body.code).toBe('partner_api_rate_limited');
  });

  it('needs the scope of what it reads', async () => {
    const { key } = await issue(await principal({ scopes: ['sites:read'] }));
    const answer = await read(key);
    expect([answer.status, answer.body.code, answer.body.required]).toEqual([
      403,
      'partner_api_scope_required',
      ['organizations:read'],
    ]);
    must(await machine(fleet, key).get('/partner-api/sites'), 200);
  });

  it('pauses with its principal, and follows what is changed about it', async () => {
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

  it('is replaced by its rotation, and ends with its revocation', async () => {
    const id = await principal();
    const { keyId, key } = await issue(id);
    must(await read(key), 200);
    const rotated = must(await client.post(`${PRINCIPALS}/${id}/keys/${keyId}/rotate`), 200);
    await refused(key);
    must(await read(rotated.key as string), 200);
    must(await client.delete(`${PRINCIPALS}/${id}/keys/${rotated.keyId}`), 200);
    await refused(rotated.key as string);
  });

  it('works only from the addresses of its principal', async () => {
    const [here, there] = [new ApiClient(fleet.baseUrl), new ApiClient(fleet.baseUrl)];
    const { key } = await issue(await principal({ sourceCidrs: [`${here.address}/32`] }));
    const from = (address: ApiClient) => address.as({ apiKey: key }).get('/partner-api/organizations');
    must(await from(here), 200);
    expect((await from(there)).body.code).toBe('partner_api_invalid_credentials');
  });

  it('is nothing on the surfaces of API keys', async () => {
    const { key } = await issue(await principal());
    const answer = await machine(fleet, key).get('/devices/00000000-0000-4000-8000-000000000000/custom-fields');
    expect([answer.status, answer.body.code]).toEqual([401, 'invalid_api_key']);
  });
});
