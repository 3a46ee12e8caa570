import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import request from 'supertest';
import { type Stores, startStores } from '@rmm/testing-services';
import { KitTestApp } from '../../test/kit-test-app.js';
import { HealthRegistry } from '../health/health-registry.service.js';

describe('the request pipeline', () => {
  let stores: Stores;
  let kit: KitTestApp;

  beforeAll(async () => {
    stores = await startStores();
    kit = await KitTestApp.start({
      REDIS_URL: stores.redisUrl,
      TRUSTED_PROXY_CIDRS: '127.0.0.0/8, ::1/128',
      GLOBAL_RATE_LIMIT_PER_MINUTE: '5',
      BUILD_VERSION: '1.2.3-spec',
      CORS_ORIGINS: 'https://app.fleet.example, https://other.example',
    });
  });

  afterAll(async () => {
    await kit.stop();
    await stores.stop();
  });

  let clients = 0;
  /** Each test uses another address, since the global limit is low here. */
  const get = (path: string, address = `198.51.100.${++clients}`) =>
    request(kit.server).get(path).set('X-Forwarded-For', address);

  it('sets a request id on every response and takes over a valid one', async () => {
    const created = await get('/api/v1/things');
    expect(created.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    const taken = await get('/api/v1/things/context').set('X-Request-Id', 'abc.DEF_1-2');
    expect(taken.headers['x-request-id']).toBe('abc.DEF_1-2');
    expect(taken.body.requestId).toBe('abc.DEF_1-2');
    const refused = await get('/api/v1/things').set('X-Request-Id', 'a b');
    expect(refused.headers['x-request-id']).not.toBe('a b');
  });

  it('passes client address, user agent and trace context to the handler', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const reply = await get('/api/v1/things/context', '203.0.113.77')
      .set('User-Agent', 'spec')
      .set('traceparent', traceparent);
    expect(reply.body).toMatchObject({ ipAddress: '203.0.113.77', userAgent: 'spec', traceparent });
    const bad = await get('/api/v1/things/context').set('traceparent', 'nonsense');
    expect(bad.body.traceparent).toBeUndefined();
  });

  it.each([
    ['0', '00'],
    ['1', '01'],
  ])('records a share of %s of the traces, whatever clients ask for', async (share, flags) => {
    const traced = await KitTestApp.start({
      REDIS_URL: stores.redisUrl,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_TRACES_SAMPLER_ARG: share,
    });
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    try {
      for (const given of ['00', '01']) {
        const { body } = await request(traced.server)
          .get('/api/v1/things/context')
          .set('traceparent', `00-${traceId}-b7ad6b7169203331-${given}`);
        expect(body.traceparent).toMatch(new RegExp(`^00-${traceId}-(?!b7ad6b7169203331)[0-9a-f]{16}-${flags}$`));
      }
      const { body } = await request(traced.server).get('/api/v1/things/context');
      expect(body.traceparent).toMatch(new RegExp(`^00-[0-9a-f]{32}-[0-9a-f]{16}-${flags}$`));
      const access = traced.logged.filter(({ msg }) => msg === 'request').map((line) => line.traceId);
      expect(access).toEqual([traceId, traceId, body.traceparent.slice(3, 35)]);
    } finally {
      await traced.stop();
    }
  });

  it.each(['/api/v1/things', '/api/v1/nowhere', '/health/live'])('sets the security headers on %s', async (path) => {
    const { headers } = await get(path);
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'strict-origin-when-cross-origin',
      'content-security-policy': "default-src 'self'",
    });
    expect(headers['strict-transport-security']).toBeUndefined();
    expect(headers['x-powered-by'] ?? headers.etag).toBeUndefined();
  });

  it('sets HSTS over HTTPS only', async () => {
    const { headers } = await get('/api/v1/things').set('X-Forwarded-Proto', 'http, https');
    expect(headers['strict-transport-security']).toBe('max-age=31536000; includeSubDomains; preload');
    const plain = await get('/api/v1/things').set('X-Forwarded-Proto', 'https, http');
    expect(plain.headers['strict-transport-security']).toBeUndefined();
  });

  it('allows the listed origins, with credentials, and no other', async () => {
    const allowed = await get('/api/v1/things').set('Origin', 'https://other.example');
    expect(allowed.headers['access-control-allow-origin']).toBe('https://other.example');
    expect(allowed.headers['access-control-allow-credentials']).toBe('true');
    expect(allowed.headers['access-control-expose-headers']).toContain('X-RateLimit-Remaining');
    for (const origin of ['https://evil.example', 'https://app.fleet.example.evil.example', 'null']) {
      const other = await get('/api/v1/things').set('Origin', origin);
      expect(other.headers['access-control-allow-origin']).toBeUndefined();
      expect(other.headers.vary).toBe('Origin');
    }
  });

  it('responds to a preflight request', async () => {
    const reply = await request(kit.server).options('/api/v1/things').set({
      Origin: 'https://app.fleet.example',
      'Access-Control-Request-Method': 'POST',
      'X-Forwarded-For': '203.0.113.5',
    });
    expect(reply.status).toBe(204);
    expect(reply.headers['access-control-allow-methods']).toContain('PATCH');
    const allowed = reply.headers['access-control-allow-headers'];
    for (const name of ['Authorization', 'If-Match', 'If-None-Match']) expect(allowed).toContain(name);
  });

  it('limits an address, IPv6 by its /64, with CORS headers on the refusal', async () => {
    for (let i = 0; i < 5; i++) expect((await get('/api/v1/things', `2001:db8::${i}`)).status).toBe(200);
    const refused = await get('/api/v1/things', '2001:db8::ffff').set('Origin', 'https://app.fleet.example');
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBe(refused.body.retryAfter);
    expect(refused.headers['access-control-allow-origin']).toBe('https://app.fleet.example');
    expect((await get('/api/v1/things', '2001:db8:0:1::1')).status).toBe(200);
  });

  it.each(['/health/live', '/api/v1/agents/x', '/api/v1/agents', '/api/v1/partner-api/sites', '/api/v1/mcp/message'])(
    'does not count %s',
    async (path) => {
      const address = `192.0.2.${++clients}`;
      for (let i = 0; i < 8; i++) expect((await get(path, address)).status).not.toBe(429);
      expect((await get('/api/v1/things', address)).status).toBe(200);
    },
  );

  it('exempts GET and PATCH of custom fields with an API key only', async () => {
    const path = '/api/v1/devices/x/custom-fields';
    const address = `192.0.2.${++clients}`;
    for (let i = 0; i < 8; i++) {
      const call = i % 2 === 0 ? get(path, address) : request(kit.server).patch(path).set('X-Forwarded-For', address);
      if (i > 3) call.set('Authorization', 'Bearer x');
      expect((await call.set('X-API-Key', 'svc_x')).status).not.toBe(429);
    }
    expect((await get('/api/v1/things', address)).status).toBe(200);
    const counted = [
      (from: string) => get(path, from).set('Authorization', 'Bearer x'),
      (from: string) => request(kit.server).head(path).set({ 'X-Forwarded-For': from, 'X-API-Key': 'svc_x' }),
      (from: string) => get('/api/v1/devices/x', from).set('X-API-Key', 'svc_x'),
      (from: string) => get(`${path}/more`, from).set('X-API-Key', 'svc_x'),
    ];
    for (const call of counted) {
      const from = `192.0.2.${++clients}`;
      for (let i = 0; i < 5; i++) expect((await call(from)).status).not.toBe(429);
      expect((await call(from)).status).toBe(429);
    }
  });

  it('counts a path that only begins like an exempt one', async () => {
    const address = `192.0.2.${++clients}`;
    for (let i = 0; i < 5; i++) await get('/api/v1/agentsmith', address);
    expect((await get('/api/v1/agentsmith', address)).status).toBe(429);
  });

  it('logs one line for a request with its route', async () => {
    await get('/api/v1/things/a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11?token=abc', '203.0.113.9').set(
      'X-Request-Id',
      'line-1',
    );
    const lines = kit.logged.filter((line) => line.requestId === 'line-1' && line.msg === 'request');
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'info',
        method: 'GET',
        route: '/api/v1/things/:id',
        status: 200,
        ip: '203.0.113.9',
      }),
    ]);
    expect(JSON.stringify(kit.logged)).not.toContain('token=abc');
  });

  it('logs the code of an error and the caller that was authenticated', async () => {
    await get('/api/v1/things/42').set('X-Request-Id', 'line-2');
    await get('/api/v1/things/as-user').set('X-Request-Id', 'line-3');
    const lineOf = (id: string) => kit.logged.find((line) => line.requestId === id && line.msg === 'request');
    expect(lineOf('line-2')).toMatchObject({ status: 404, code: 'not_found' });
    expect(lineOf('line-2')).not.toHaveProperty('actorId');
    expect(lineOf('line-3')).toMatchObject({ status: 200, userId: 'u-1', partnerId: 'p-1' });
    expect(lineOf('line-3')).not.toHaveProperty('orgId');
  });

  it('logs the key that called, the sizes and the client program', async () => {
    await request(kit.server)
      .post('/api/v1/things/as-key')
      .set({ 'X-Forwarded-For': '198.51.100.250', 'X-Request-Id': 'line-4', 'User-Agent': `spec/${'1'.repeat(300)}` })
      .send({ name: 'a' });
    const line = kit.logged.find(({ requestId, msg }) => requestId === 'line-4' && msg === 'request');
    expect(line).toMatchObject({ actorType: 'api_key', actorId: 'k-1', orgId: 'o-1', requestBytes: 12 });
    expect(line).not.toHaveProperty('userId');
    expect(line?.userAgent).toHaveLength(200);
    expect(line?.responseBytes).toBeGreaterThan(1_000); // the body alone has a thousand
  });

  it('counts refusals of a limit by its name and cause', async () => {
    const client = '198.51.100.251';
    for (let sent = 0; sent < 7; sent++) await get('/api/v1/things', client);
    const { text } = await get('/metrics');
    expect(text).toMatch(/rmm_rate_limit_refusals_total\{limit="global",reason="limit",service="provisioning"\} [2-9]/);
  });

  it('shows the build and the state of the dependencies', async () => {
    const health = kit.app.get(HealthRegistry);
    const scrape = async () => (await get('/metrics')).text;
    const text = await scrape();
    expect(text).toContain(`rmm_build_info{version="1.2.3-spec",node="${process.version}",service="provisioning"} 1`);
    expect(text).toContain('rmm_dependency_up{dependency="redis",service="provisioning"} 1');
    expect(text).toContain('rmm_ready{service="provisioning"} 1');
    health.register('broken', () => Promise.reject(new Error('away')));
    const broken = await scrape();
    expect(broken).toContain('rmm_dependency_up{dependency="broken",service="provisioning"} 0');
    expect(broken).toContain('rmm_ready{service="provisioning"} 0');
    health.checks.delete('broken');
  });

  it('counts request times by route and status', async () => {
    await get('/api/v1/nowhere/at/all');
    const { text } = await get('/metrics');
    expect(text).toContain(
      'rmm_http_requests_total{class="none",method="GET",route="none",status="404",service="provisioning"}',
    );
    expect(text).toMatch(
      /_bucket\{le="\+Inf",service="provisioning",class="read",method="GET",route="\/api\/v1\/things"\} \d+/,
    );
    expect(text).toContain('rmm_http_requests_in_flight');
  });

  it('is live, not ready and serves no route while it starts', async () => {
    const health = kit.app.get(HealthRegistry);
    health.state = 'starting';
    expect((await get('/health/live')).status).toBe(200);
    const ready = await get('/health/ready');
    expect([ready.status, ready.body.state]).toEqual([503, 'starting']);
    const refused = await get('/api/v1/things');
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    health.state = 'ready';
    expect((await get('/health/ready')).body).toEqual({ status: 'ok', state: 'ready', checks: { redis: 'up' } });
  });

  it.each([
    ['400 to a peer that does not speak HTTP', 'NONSENSE', 400, 'bad_request'],
    [
      '431 to a request with more than 16 KB of headers',
      `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(17 * 1024)}`,
      431,
      'request_headers_too_large',
    ],
  ])('responds %s, with the body of every error', async (_, head, status, code) => {
    if (!kit.server.listening) await new Promise<void>((resolve) => kit.server.listen(0, resolve));
    const { port } = kit.server.address() as AddressInfo;
    const reply = await new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect(port, '127.0.0.1', () => socket.write(`${head}\r\n\r\n`));
      socket
        .on('data', (chunk: Buffer) => (text += chunk.toString()))
        .on('end', () => resolve(text))
        .on('error', reject);
    });
    const [headers = '', body = ''] = reply.split('\r\n\r\n');
    const { requestId } = JSON.parse(body) as { requestId: string };
    expect(headers).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(headers).toContain(`X-Request-Id: ${requestId}`);
    expect(JSON.parse(body)).toMatchObject({ code });
  });
});

describe('forced HTTPS', () => {
  let kit: KitTestApp;
  beforeAll(async () => {
    kit = await KitTestApp.start({
      FORCE_HTTPS: 'true',
      TRUSTED_PROXY_CIDRS: '127.0.0.0/8, ::1/128',
      RATE_LIMITS_ENABLED: 'false',
    });
  });
  afterAll(() => kit.stop());

  it('redirects plain HTTP to the public host, whatever the Host header', async () => {
    const reply = await request(kit.server).post('/api/v1/things?x=1').set('Host', 'evil.example').send({});
    expect([reply.status, reply.headers.location]).toEqual([308, 'https://api.fleet.example/api/v1/things?x=1']);
  });

  it('serves HTTPS and health without a redirect', async () => {
    expect((await request(kit.server).get('/api/v1/things').set('X-Forwarded-Proto', 'https')).status).toBe(200);
    expect((await request(kit.server).get('/health/live')).status).toBe(200);
  });
});
