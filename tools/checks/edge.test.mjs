import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { startEdge } from '../edge/edge.mjs';
import { readRoutes, routingTable } from '../edge/routing-table.mjs';
import { serviceNames } from '../fleet/services.mjs';

describe('the routing table', () => {
  const serviceOf = routingTable(readRoutes());

  it('lets the longest prefix decide', () => {
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
    { prefix: '/api/v1/nobody', service: 'credentials' },
  ];
  const upstreams = [];
  let edge;
  let abandoned;

  /** An upstream whose every request is answered by `handler`. */
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
    edge = await startEdge({
      supervisor: { instances: upstreams.map(({ instance }) => instance) },
      wishedPort: 28_180,
      routes,
    });
  });

  after(async () => {
    await edge.close();
    for (const { server } of upstreams) server.close().closeAllConnections();
  });

  const get = (path, headers = {}) => fetch(`${edge.url}${path}`, { headers });

  it('answers an unknown route with the error body of the services', async () => {
    const answer = await get('/api/v1/unknown', { 'x-request-id': 'abc-1' });
    assert.equal(answer.status, 404);
    const { error, code, requestId, message } = await answer.json();
    assert.deepEqual([error, code, requestId, typeof message], ['Not Found', 'not_found', 'abc-1', 'string']);
    assert.equal(answer.headers.get('x-request-id'), 'abc-1');
  });

  it('makes a request id where the one it got is not acceptable', async () => {
    const answer = await get('/api/v1/unknown', { 'x-request-id': 'has blanks' });
    assert.match((await answer.json()).requestId, /^[0-9a-f-]{36}$/);
  });

  it('answers 503 with Retry-After when no instance can be reached', async () => {
    const answer = await get('/api/v1/nobody');
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('retry-after'), '1');
    assert.equal((await answer.json()).code, 'service_unavailable');
  });

  it('adds the peer to X-Forwarded-For and keeps what was there', async () => {
    const alone = await (await get('/api/v1/one')).json();
    assert.equal(alone.headers['x-forwarded-for'], '127.0.0.1');
    assert.equal(alone.headers['x-forwarded-proto'], 'http');
    const behind = await (await get('/api/v1/one', { 'x-forwarded-for': '203.0.113.9' })).json();
    assert.equal(behind.headers['x-forwarded-for'], '203.0.113.9, 127.0.0.1');
  });

  it('hands on path, query, request id and host as they came', async () => {
    const told = await (await get('/api/v1/one/a%20b?x=1&y=%2F', { 'x-request-id': 'abc-2' })).json();
    assert.equal(told.url, '/api/v1/one/a%20b?x=1&y=%2F');
    assert.equal(told.headers['x-request-id'], 'abc-2');
    assert.equal(told.headers.host, new URL(edge.url).host);
  });

  it('keeps both of two cookies', async () => {
    assert.deepEqual((await get('/api/v1/one')).headers.getSetCookie(), ['first=1', 'second=2']);
  });

  it('passes a large body through', async () => {
    const body = Buffer.alloc(20_000_000);
    const answer = await fetch(`${edge.url}/api/v1/one`, { method: 'POST', body });
    assert.equal((await answer.json()).bytes, body.length);
  });

  it('passes on an answer that comes before the body has ended', async () => {
    const status = await new Promise((resolve, reject) => {
      const request = http.request(`${edge.url}/api/v1/one/early`, {
        method: 'POST',
        headers: { 'content-length': 50_000_000 },
      });
      request.once('response', (answer) => resolve(answer.resume().statusCode));
      request.once('error', reject);
      request.write(Buffer.alloc(100_000));
    });
    assert.equal(status, 413);
  });

  it('reads the rest of a refused body, so that the caller sees the refusal and can go on', async () => {
    const body = Buffer.alloc(1_100_000);
    for (let i = 0; i < 50; i++) {
      const refused = await fetch(`${edge.url}/api/v1/one/early`, { method: 'POST', body });
      assert.deepEqual([refused.status, await refused.text()], [413, 'too large']);
    }
    assert.equal((await get('/api/v1/one')).status, 200);
  });

  it('streams: the first part arrives before the last is sent', async () => {
    const answer = await get('/api/v1/one/stream');
    const { value } = await answer.body.getReader().read();
    assert.equal(Buffer.from(value).toString(), 'first;');
  });

  it('lets half an answer not look like a whole one', async () => {
    const answer = await get('/api/v1/one/half');
    await assert.rejects(answer.text(), 'the connection is cut, not ended');
  });

  it('tells the service when nobody reads any more', async () => {
    const told = new Promise((resolve) => (abandoned = resolve));
    const reading = new AbortController();
    await fetch(`${edge.url}/api/v1/one/watched`, { signal: reading.signal });
    reading.abort();
    await told;
  });

  it('gives replicas turns, and leaves out one that went away', async () => {
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
    assert.deepEqual(await names(), ['pair-1'], 'no request failed');
  });

  it('says which service is not ready', async () => {
    assert.equal((await get('/health/live')).status, 200);
    const answer = await get('/health/ready');
    assert.equal(answer.status, 503);
    const { checks } = await answer.json();
    assert.equal(checks.identity, 'up');
    assert.equal(checks.credentials, 'down');
  });

  it('does not fall over a peer that speaks no HTTP', async () => {
    const socket = net.connect(Number(new URL(edge.url).port), '127.0.0.1');
    socket.write('nonsense\r\n\r\n');
    const answer = await new Promise((resolve) => socket.once('data', (bytes) => resolve(bytes.toString())));
    assert.match(answer, /^HTTP\/1\.1 400/);
    assert.equal((await get('/health/live')).status, 200);
  });
});
