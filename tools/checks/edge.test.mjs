import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createRouter, readRoutes, startEdge } from '../dist/edge/edge.js';
import { SERVICE_NAMES as serviceNames } from '../dist/fleet/services.js';

describe('the routing table', () => {
  const serviceOf = createRouter(readRoutes());

  it('chooses the longest prefix', () => {
    assert.equal(serviceOf('/api/v1/orgs/partners'), 'identity');
    assert.equal(serviceOf('/api/v1/orgs/partners/7'), 'identity');
    assert.equal(serviceOf('/api/v1/orgs/organizations'), 'provisioning');
    assert.equal(serviceOf('/api/v1/orgs'), 'provisioning');
  });

  it('ends a prefix at a slash', () => {
    assert.equal(serviceOf('/api/v1/dev/push'), 'provisioning');
    assert.equal(serviceOf('/api/v1/devices'), 'provisioning');
    assert.equal(serviceOf('/api/v1/usersandmore'), null);
    assert.equal(serviceOf('/docs/swagger-ui.css'), 'partner-gateway');
    assert.equal(serviceOf('/docsy'), null);
  });

  it('names only services that exist, each prefix once', () => {
    const routes = readRoutes();
    assert.deepEqual([...new Set(routes.map(({ service }) => service))].sort(), [...serviceNames].sort());
    assert.equal(new Set(routes.map(({ prefix }) => prefix)).size, routes.length);
  });
});

describe('the edge', () => {
  const routes = [
    { prefix: '/api/v1/one', service: 'identity' },
    { prefix: '/api/v1/pair', service: 'provisioning' },
    { prefix: '/api/v1/down', service: 'credentials' },
    { prefix: '/pages', service: 'credentials' },
  ];
  const upstreams = [];
  let edge;
  let abandoned;

  /** Starts an upstream that handles every request with `handler`. */
  async function upstream(service, name, handler) {
    const server = http.createServer(handler);
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const instance = { service, name, port: server.address().port, state: 'ready' };
    upstreams.push({ server, instance });
    return instance;
  }

  const echo = (name) => async (request, response) => {
    let bytes = 0;
    for await (const chunk of request) bytes += chunk.length;
    response.setHeader('set-cookie', ['first=1', 'second=2']);
    response.end(JSON.stringify({ name, url: request.url, headers: request.headers, bytes }));
  };

  before(async () => {
    await upstream('identity', 'one', (request, response) => {
      if (request.url.endsWith('/early')) return response.writeHead(413).end('too large');
      if (request.url.endsWith('/stream')) return void response.write('first;');
      if (request.url.endsWith('/half')) return void response.write('first;', () => response.destroy());
      if (request.url.endsWith('/watched')) return void response.on('close', () => abandoned()).write('first;');
      return echo('one')(request, response);
    });
    await upstream('provisioning', 'pair-1', echo('pair-1'));
    await upstream('provisioning', 'pair-2', echo('pair-2'));
    const closed = await upstream('credentials', 'closed', () => {});
    upstreams.find(({ instance }) => instance === closed).server.close();
    const instances = upstreams.map(({ instance }) => instance);
    edge = await startEdge(instances, 28_180, routes);
  });

  after(async () => {
    await edge.close();
    for (const { server } of upstreams) server.close().closeAllConnections();
  });

  const get = (path, headers = {}) => fetch(`${edge.url}${path}`, { headers });

  it('responds to an unknown route with the error body of the services', async () => {
    const reply = await get('/api/v1/unknown', { 'x-request-id': 'abc-1' });
    assert.equal(reply.status, 404);
    const { error, code, requestId, message } = await reply.json();
    assert.deepEqual([error, code, requestId, typeof message], ['Not Found', 'not_found', 'abc-1', 'string']);
    assert.equal(reply.headers.get('x-request-id'), 'abc-1');
  });

  it('creates a request id when the one of the caller is not valid', async () => {
    const reply = await get('/api/v1/unknown', { 'x-request-id': 'has blanks' });
    assert.match((await reply.json()).requestId, /^[0-9a-f-]{36}$/);
  });

  it('responds 503 with Retry-After when no instance can be reached', async () => {
    const reply = await get('/api/v1/down');
    assert.equal(reply.status, 503);
    assert.equal(reply.headers.get('retry-after'), '1');
    assert.equal((await reply.json()).code, 'service_unavailable');
    const page = await get('/pages/login', { accept: 'text/html' });
    assert.equal(page.status, 503);
    assert.match(await page.text(), /unavailable for a moment/);
  });

  it('adds the peer to X-Forwarded-For and keeps what was there', async () => {
    const alone = await (await get('/api/v1/one')).json();
    assert.equal(alone.headers['x-forwarded-for'], '127.0.0.1');
    assert.equal(alone.headers['x-forwarded-proto'], 'http');
    const behind = await (await get('/api/v1/one', { 'x-forwarded-for': '203.0.113.9' })).json();
    assert.equal(behind.headers['x-forwarded-for'], '203.0.113.9, 127.0.0.1');
  });

  it('forwards path, query, request id and host unchanged', async () => {
    const received = await (await get('/api/v1/one/a%20b?x=1&y=%2F', { 'x-request-id': 'abc-2' })).json();
    assert.equal(received.url, '/api/v1/one/a%20b?x=1&y=%2F');
    assert.equal(received.headers['x-request-id'], 'abc-2');
    assert.equal(received.headers.host, new URL(edge.url).host);
  });

  it('keeps both of two cookies', async () => {
    assert.deepEqual((await get('/api/v1/one')).headers.getSetCookie(), ['first=1', 'second=2']);
  });

  it('passes a large body through', async () => {
    const body = Buffer.alloc(20_000_000);
    const reply = await fetch(`${edge.url}/api/v1/one`, { method: 'POST', body });
    assert.equal((await reply.json()).bytes, body.length);
  });

  it('forwards a response that comes before the body has ended', async () => {
    const status = await new Promise((resolve, reject) => {
      const request = http.request(`${edge.url}/api/v1/one/early`, {
        method: 'POST',
        headers: { 'content-length': 50_000_000 },
      });
      request.once('response', (reply) => resolve(reply.resume().statusCode));
      request.once('error', reject);
      request.write(Buffer.alloc(100_000));
    });
    assert.equal(status, 413);
  });

  it('reads the rest of a refused body, so that the caller gets the response and can go on', async () => {
    const body = Buffer.alloc(1_100_000);
    for (let i = 0; i < 50; i++) {
      const refused = await fetch(`${edge.url}/api/v1/one/early`, { method: 'POST', body });
      assert.deepEqual([refused.status, await refused.text()], [413, 'too large']);
    }
    assert.equal((await get('/api/v1/one')).status, 200);
  });

  it('streams: the first part arrives before the last is sent', async () => {
    const reply = await get('/api/v1/one/stream');
    const { value } = await reply.body.getReader().read();
    assert.equal(Buffer.from(value).toString(), 'first;');
  });

  it('cuts the connection when a response is incomplete', async () => {
    const reply = await get('/api/v1/one/half');
    await assert.rejects(reply.text(), 'the connection is cut, not ended');
  });

  it('closes the request to the service when the caller disconnects', async () => {
    const disconnected = new Promise((resolve) => (abandoned = resolve));
    const reading = new AbortController();
    await fetch(`${edge.url}/api/v1/one/watched`, { signal: reading.signal });
    reading.abort();
    await disconnected;
  });

  it('sends requests to replicas in turn, and to the others when one is gone', async () => {
    const names = async () => {
      const seen = new Set();
      for (let i = 0; i < 6; i++) seen.add((await (await get('/api/v1/pair')).json()).name);
      return [...seen].sort();
    };
    assert.deepEqual(await names(), ['pair-1', 'pair-2']);
    upstreams
      .find(({ instance }) => instance.name === 'pair-2')
      .server.close()
      .closeAllConnections();
    assert.deepEqual(await names(), ['pair-1']);
  });

  it('reports which service is not ready', async () => {
    assert.equal((await get('/health/live')).status, 200);
    const reply = await get('/health/ready');
    assert.equal(reply.status, 503);
    const { checks } = await reply.json();
    assert.equal(checks.identity, 'up');
    assert.equal(checks.credentials, 'down');
  });

  it('redirects the root to the docs, and names both in a browser that opens an unknown path', async () => {
    const root = await fetch(`${edge.url}/`, { redirect: 'manual' });
    assert.deepEqual([root.status, root.headers.get('location')], [302, '/docs']);
    const link = await get('/accept-invite?token=abc', { accept: 'text/html' });
    assert.equal(link.status, 404);
    assert.match(await link.text(), /\/account.*\/docs/);
  });

  it('has no OAuth metadata, and says so in JSON whatever is accepted', async () => {
    for (const path of [
      'oauth-protected-resource',
      'oauth-protected-resource/api/v1/mcp/sse',
      'oauth-authorization-server',
    ]) {
      const reply = await get(`/.well-known/${path}`, { accept: 'text/html' });
      assert.equal(reply.status, 404);
      assert.equal((await reply.json()).code, 'not_found');
    }
  });

  it('responds 400 to a peer that does not speak HTTP', async () => {
    const socket = net.connect(Number(new URL(edge.url).port), '127.0.0.1');
    socket.write('nonsense\r\n\r\n');
    const reply = await new Promise((resolve) => socket.once('data', (bytes) => resolve(bytes.toString())));
    assert.match(reply, /^HTTP\/1\.1 400/);
    assert.equal((await get('/health/live')).status, 200);
  });

  it('responds 431 with the body of every error to headers of more than 16 KB', async () => {
    const reply = await get('/health/live', { 'x-long': 'a'.repeat(17 * 1024) });
    assert.equal(reply.status, 431);
    const { code, requestId } = await reply.json();
    assert.deepEqual([code, requestId], ['request_headers_too_large', reply.headers.get('x-request-id')]);
  });
});
