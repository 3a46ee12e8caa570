import request from 'supertest';
import { eventually, type TcpProxy, type Stores, startStores } from '@rmm/testing-services';
import { slowRequests, KitTestApp } from '../../test/kit-test-app.js';

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

describe('error responses', () => {
  let stores: Stores;
  let proxy: TcpProxy;
  let kit: KitTestApp;

  beforeAll(async () => {
    stores = await startStores();
    proxy = await stores.gate(stores.redisUrl);
    kit = await KitTestApp.start(
      { REDIS_URL: proxy.url },
      {
        bodyLimits: [{ path: '/things/import', limitBytes: 3_000_000 }],
        timeouts: [{ path: '/things/slow', timeoutMs: 200 }],
        errorBodies: [{ path: '/things/import', toBody: ({ code }, id) => ({ said: code, id }) }],
      },
    );
  });

  afterAll(async () => {
    await kit.stop();
    await stores.stop();
  });

  const post = (path: string, body: string, type = 'application/json') =>
    request(kit.server).post(`/api/v1${path}`).set('Content-Type', type).send(body);
  const get = (path: string) => request(kit.server).get(`/api/v1${path}`);

  it('returns 400 malformed_json for malformed JSON', async () => {
    const reply = await post('/things', '{"name":');
    expect(reply.status).toBe(400);
    expect(reply.body).toEqual({
      error: 'Malformed JSON',
      message: 'Malformed JSON',
      code: 'malformed_json',
      requestId: reply.headers['x-request-id'],
    });
  });

  it('returns 400 malformed_json for bytes that are not UTF-8', async () => {
    const reply = await request(kit.server)
      .post('/api/v1/things')
      .set('Content-Type', 'application/json')
      .serialize((body: Buffer) => body as never)
      .send(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]));
    expect([reply.status, reply.body.code]).toEqual([400, 'malformed_json']);
  });

  it('returns 413 for a body over the limit, with or without Content-Length', async () => {
    const body = JSON.stringify({ name: 'x'.repeat(1024 * 1024) });
    const announced = await post('/things', body);
    expect([announced.status, announced.body.code]).toEqual([413, 'payload_too_large']);
    const chunked = request(kit.server).post('/api/v1/things').set('Content-Type', 'application/json');
    chunked.set('Transfer-Encoding', 'chunked');
    chunked.write(body.slice(0, 600_000));
    chunked.write(body.slice(600_000));
    const reply = await chunked;
    expect([reply.status, reply.body.code]).toEqual([413, 'payload_too_large']);
  });

  it('applies the body limit of a route', async () => {
    const reply = await post('/things/import', JSON.stringify({ name: 'x'.repeat(2_000_000) }));
    expect([reply.status, reply.body.error]).toEqual([400, 'name: must be text of 1 to 255 characters']);
    const over = await post('/things/import', JSON.stringify({ name: 'x'.repeat(3_000_000) }));
    expect(over.status).toBe(413);
  });

  it('applies the error body of a route to errors before the router', async () => {
    const over = await post('/things/import', 'x'.repeat(3_000_001));
    expect([over.status, over.headers['content-type']]).toEqual([413, 'application/json; charset=utf-8']);
    expect(over.body).toEqual({ said: 'payload_too_large', id: over.headers['x-request-id'] });
    const other = await post('/things', 'x'.repeat(1_048_577));
    expect(other.body).toMatchObject({ code: 'payload_too_large' });
  });

  it.each(['application/x-www-form-urlencoded', 'text/plain', 'application/json; charset=utf-16'])(
    'returns 415 for %s',
    async (type) => {
      const reply = await post('/things', 'name=x', type);
      expect([reply.status, reply.body.code]).toEqual([415, 'unsupported_media_type']);
    },
  );

  it('returns 415 for a compressed body', async () => {
    const reply = await post('/things', '{}').set('Content-Encoding', 'gzip');
    expect(reply.status).toBe(415);
  });

  it.each(['/nowhere', '/things/a/b'])('returns 404 Not Found for the unknown route %s', async (path) => {
    const reply = await get(path);
    expect(reply.status).toBe(404);
    expect(reply.body).toMatchObject({ error: 'Not Found', code: 'not_found' });
    expect((await request(kit.server).get('/')).body).toMatchObject({ error: 'Not Found', code: 'not_found' });
  });

  it('returns 404 of the resource for a malformed id or escape', async () => {
    const reply = await get('/things/42');
    expect([reply.status, reply.body.error, reply.body.code]).toEqual([404, 'Thing not found', 'not_found']);
    expect((await get('/things/%E0%A4%A')).status).toBe(404);
    const id = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11';
    expect((await get(`/things/${id}`)).body).toEqual({ id: id.toLowerCase() });
  });

  it('lists every problem of a body by its path, the first one in `error`', async () => {
    const body = {
      color: 1,
      name: ' ',
      size: '5',
      scopes: ['read', 'own'],
      rows: [{ timezone: 'UTC' }, { timezone: 'far too long', x: 1 }],
    };
    const reply = await post('/things', JSON.stringify(body));
    expect(reply.status).toBe(400);
    expect(reply.body.code).toBe('validation_failed');
    expect(reply.body.error).toBe('color: unknown field');
    expect(reply.body.details.fieldErrors).toEqual({
      color: ['unknown field'],
      name: ['must be text of 1 to 255 characters'],
      size: ['must be an integer from 1 to 10'],
      'scopes.1': ['must be one of read, write'],
      'rows.1.x': ['unknown field'],
      'rows.1.timezone': ['must be text of 1 to 5 characters'],
    });
  });

  it('returns the texts of an error class with its extra fields', async () => {
    const reply = await get('/things/taken');
    expect(reply.status).toBe(409);
    expect(reply.body).toEqual({
      error: 'Thing taken',
      message: 'Take another.',
      code: 'thing_taken',
      count: 3,
      requestId: expect.stringMatching(ID),
    });
  });

  it('returns 500 without the cause of a crash and logs it', async () => {
    const reply = await get('/things/crash').set('X-Request-Id', 'crash-1');
    expect(reply.status).toBe(500);
    expect(reply.body).toEqual({
      error: 'Internal Server Error',
      message: 'Internal Server Error',
      code: 'internal_error',
      requestId: 'crash-1',
    });
    const line = kit.logged.find((entry) => entry.level === 'error' && entry.requestId === 'crash-1');
    expect(line).toMatchObject({ service: 'provisioning', path: '/api/v1/things/crash' });
    expect(JSON.stringify(line)).toContain('select * from secret_table');
  });

  it.each([
    ['an unknown route', '/nowhere/svc_0123456789abcdefghij'],
    ['a value in the path of a known one', '/things/svc_0123456789abcdefghij'],
  ])('logs no key that is pasted into the path of %s, at any level', async (_, path) => {
    expect((await get(path)).status).toBe(404);
    expect(kit.logged.filter(({ level }) => level === 'debug')).not.toEqual([]);
    expect(kit.logged.filter((entry) => JSON.stringify(entry).includes('svc_0123456789abcdefghij'))).toEqual([]);
  });

  it('destroys the connection when a response has already begun', async () => {
    await expect(get('/things/begun')).rejects.toThrow(/aborted|hang up/);
  });

  it('returns 503 with Retry-After when a request exceeds its time limit', async () => {
    const reply = await get('/things/slow');
    expect([reply.status, reply.body.code, reply.headers['retry-after']]).toEqual([503, 'service_unavailable', '1']);
  });

  it('returns the outcome of a request that exceeds its time limit after it has committed something', async () => {
    const before = slowRequests.length;
    const reply = get('/things/slow/committed');
    const sent = reply.then((response) => response.status);
    await eventually(() => expect(slowRequests.length).toBe(before + 1));
    await new Promise((resolve) => setTimeout(resolve, 250)); // the limit is 200 ms
    slowRequests.at(-1)?.();
    expect(await sent).toBe(200);
  });

  it('closes the connection of such a request when its outcome does not follow either', async () => {
    await expect(get('/things/slow/committed')).rejects.toThrow(/aborted|hang up/);
  });

  it('returns 429 with Retry-After in header and body', async () => {
    await get('/things/guess');
    await get('/things/guess');
    const reply = await get('/things/guess');
    expect([reply.status, reply.body.code]).toEqual([429, 'rate_limited']);
    expect(reply.body.retryAfter).toBe(60);
    expect(reply.headers['retry-after']).toBe('60');
  });

  it('returns 503 with Retry-After while a dependency is down and recovers', async () => {
    await proxy.shut();
    const reply = await get('/things/guess');
    expect([reply.status, reply.body.code, reply.headers['retry-after']]).toEqual([503, 'service_unavailable', '1']);
    expect((await get('/things')).status).toBe(200); // the global limit counts in memory meanwhile
    const ready = await request(kit.server).get('/health/ready');
    expect([ready.status, ready.body.checks]).toEqual([503, { redis: 'down' }]);
    await proxy.open();
    await eventuallyHealthy();
    expect((await get('/things/guess')).status).toBe(429);
  });

  async function eventuallyHealthy() {
    await eventually(async () => {
      expect((await request(kit.server).get('/health/ready')).status).toBe(200);
      expect((await get('/things/guess')).status).toBe(429);
    });
  }
});
