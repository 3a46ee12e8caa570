import { FakeFetch } from '../test/fake-fetch.js';
import { ApiError, ConnectionError } from './api-error.js';
import { type ClientOptions, FleetClient } from './fleet-client.js';

const BASE = 'https://api.fleet.example';
const REFUSED = { status: 429, headers: { 'retry-after': '7' }, body: { code: 'rate_limited' } };
const UNAVAILABLE = { status: 503, headers: { 'retry-after': '2' }, body: { code: 'service_unavailable' } };
const ID = '6f1c9a52-3a0e-4f1b-9d55-0c4b8f1f2a01';

function clientOf(fake: FakeFetch, options: Partial<ClientOptions> = {}) {
  const waits: number[] = [];
  const wait = (ms: number) => Promise.resolve(waits.push(ms));
  return { client: new FleetClient({ baseUrl: BASE, fetch: fake.fetch, wait, ...options }), waits };
}

describe('FleetClient', () => {
  it('sends path parameters, query and body, and returns the body', async () => {
    const fake = new FakeFetch([{ body: { id: ID } }, { body: { data: [] } }, { status: 201, body: { id: ID } }]);
    const { client } = clientOf(fake);
    expect(await client.get('/devices/{id}', { path: { id: ID } })).toEqual({ id: ID });
    await client.get('/devices', { query: { limit: 10, search: 'a b' } });
    await client.post('/orgs/organizations', { body: { name: 'Blue Bakery' } });
    expect(fake.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      `GET ${BASE}/api/v1/devices/${ID}`,
      `GET ${BASE}/api/v1/devices?limit=10&search=a+b`,
      `POST ${BASE}/api/v1/orgs/organizations`,
    ]);
    expect(fake.requests[2]).toMatchObject({
      headers: { 'content-type': 'application/json' },
      body: { name: 'Blue Bakery' },
    });
  });

  it('sends the credential: a key, a token, the current token of a function, or none', async () => {
    const fake = new FakeFetch([{}, {}, {}, {}]);
    const { client } = clientOf(fake, { credentials: { apiKey: 'svc_key' } });
    let token = 'first';
    await client.get('/devices');
    await client.as({ bearer: 'fixed' }).get('/devices');
    await client.as({ bearer: () => Promise.resolve((token = 'renewed')) }).get('/devices');
    await client.as(undefined).get('/devices');
    expect(token).toBe('renewed');
    const sent = fake.requests.map(({ headers }) => [headers['x-api-key'], headers['authorization']]);
    expect(sent).toEqual([
      ['svc_key', undefined],
      [undefined, 'Bearer fixed'],
      [undefined, 'Bearer renewed'],
      [undefined, undefined],
    ]);
  });

  it('repeats a refused call after the time that the response names', async () => {
    const fake = new FakeFetch([REFUSED, UNAVAILABLE, { body: { data: [] } }]);
    const { client, waits } = clientOf(fake);
    expect(await client.get('/devices')).toEqual({ data: [] });
    expect(waits).toEqual([7_000, 2_000]);
  });

  it('waits longer each time when the response names no time', async () => {
    const fake = new FakeFetch([{ status: 503 }, new TypeError('fetch failed'), { status: 503 }, {}]);
    const { client, waits } = clientOf(fake);
    await client.get('/devices');
    const bounds = [500, 1_000, 2_000];
    expect(waits).toHaveLength(3);
    waits.forEach((ms, i) => {
      expect(ms).toBeGreaterThanOrEqual((bounds[i] ?? 0) / 2);
      expect(ms).toBeLessThanOrEqual(bounds[i] ?? 0);
    });
  });

  it('gives up after the last repeat, and at once when the wait would be too long', async () => {
    const often = new FakeFetch([REFUSED, REFUSED]);
    await expect(clientOf(often, { retries: 1 }).client.get('/devices')).rejects.toMatchObject({ status: 429 });
    expect(often.requests).toHaveLength(2);
    const long = new FakeFetch([{ ...REFUSED, headers: { 'retry-after': '3600' } }]);
    await expect(clientOf(long).client.get('/devices')).rejects.toMatchObject({ retryAfterSeconds: 3_600 });
    expect(long.requests).toHaveLength(1);
  });

  it('repeats a POST after 429 only, unless it has an idempotency key', async () => {
    const body = { name: 'Blue Bakery' };
    const refused = new FakeFetch([REFUSED, { status: 201 }]);
    await clientOf(refused).client.post('/orgs/organizations', { body });
    const unavailable = new FakeFetch([UNAVAILABLE]);
    await expect(clientOf(unavailable).client.post('/orgs/organizations', { body })).rejects.toBeInstanceOf(ApiError);
    const cut = new FakeFetch([new TypeError('fetch failed')]);
    await expect(clientOf(cut).client.post('/orgs/organizations', { body })).rejects.toBeInstanceOf(ConnectionError);
    const withKey = new FakeFetch([UNAVAILABLE, new TypeError('fetch failed'), { status: 201 }]);
    await clientOf(withKey).client.post('/orgs/import', { body: { rows: [] }, idempotencyKey: 'once-1' });
    expect(withKey.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['once-1', 'once-1', 'once-1']);
  });

  it('throws what an error response says', async () => {
    const body = {
      error: 'Invalid request',
      message: 'Some fields are not valid.',
      code: 'validation_failed',
      requestId: 'r-1',
      details: { fieldErrors: { name: ['is required'] } },
    };
    const { client } = clientOf(new FakeFetch([{ status: 400, body }]));
    const error = await client.get('/devices').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      status: 400,
      code: 'validation_failed',
      requestId: 'r-1',
      fieldErrors: { name: ['is required'] },
      message: 'GET /devices: 400 validation_failed: Some fields are not valid.',
    });
  });

  it('throws an error of a proxy that does not speak JSON', async () => {
    const fake = { fetch: () => Promise.resolve(new Response('<h1>Bad gateway</h1>', { status: 502 })) };
    const { client } = clientOf(fake as unknown as FakeFetch);
    await expect(client.get('/devices')).rejects.toMatchObject({ status: 502, code: 'unknown', fieldErrors: {} });
  });

  it('ends when the caller aborts, without a repeat', async () => {
    const abort = new AbortController();
    const fake = new FakeFetch([new TypeError('aborted'), {}]);
    const { client } = clientOf(fake);
    abort.abort(new Error('enough'));
    await expect(client.get('/devices', { signal: abort.signal })).rejects.toThrow('enough');
    expect(fake.requests).toHaveLength(1);
  });

  it('returns status and headers on request', async () => {
    const fake = new FakeFetch([{ status: 200, headers: { 'x-ratelimit-remaining': '12' }, body: { data: [] } }]);
    const { status, headers, body } = await clientOf(fake).client.request('get', '/devices');
    expect([status, headers.get('x-ratelimit-remaining'), body]).toEqual([200, '12', { data: [] }]);
  });

  it('reads all pages of a list as they are iterated', async () => {
    const page = (number: number, ids: string[]) => ({
      body: { data: ids.map((id) => ({ id })), pagination: { page: number, limit: 2, total: 3 } },
    });
    const fake = new FakeFetch([page(1, ['a', 'b']), page(2, ['c'])]);
    const ids: string[] = [];
    for await (const { id } of clientOf(fake).client.list('/webhooks', { query: { limit: 2 } })) ids.push(id);
    expect(ids).toEqual(['a', 'b', 'c']);
    expect(fake.requests.map(({ url }) => url.split('?')[1])).toEqual(['limit=2', 'limit=2&page=2']);
  });

  it('reads an export of the partner interface and names its moment', async () => {
    const page = (ids: string[], nextCursor: string | null) => ({
      body: { snapshotAt: 'T', data: ids.map((id) => ({ id })), nextCursor, hasMore: nextCursor !== null },
    });
    const fake = new FakeFetch([page(['a'], 'c1'), page([], 'c2'), page(['b'], null)]);
    const exported = clientOf(fake).client.export('/partner-api/sites', { updatedSince: new Date(0), limit: 1 });
    expect(() => exported.snapshotAt).toThrow('has not begun');
    const ids: string[] = [];
    for await (const { id } of exported) ids.push(id);
    expect([ids, exported.snapshotAt]).toEqual([['a', 'b'], 'T']);
    expect(fake.requests.map(({ url }) => new URL(url).searchParams.get('cursor'))).toEqual([null, 'c1', 'c2']);
    expect(new URL(fake.requests[0]?.url ?? '').searchParams.get('updatedSince')).toBe('1970-01-01T00:00:00.000Z');
  });
});
