import { eventually } from '@rmm/testing-services';
import { GatewayTestApp } from '../../test/gateway-test-app.js';

describe('GET /partner-api/me', () => {
  let service: GatewayTestApp;

  beforeAll(async () => {
    service = await GatewayTestApp.start({ TRUSTED_PROXY_CIDRS: '127.0.0.1/32' });
    const { key } = service.createPartnerKey();
    await eventually(async () => expect((await me(key)).status).toBe(200));
  });
  afterAll(() => service.stop());

  const me = (key?: string) => service.request('get', '/partner-api/me', key);

  it('describes the key to any scopes and is not charged to its limit', async () => {
    const { key } = service.createPartnerKey({
      rateLimit: 2,
      scopes: ['sites:write'],
      expiresAt: '2999-01-01T00:00:00.000Z',
      expiresInMs: 1e12,
    });
    for (let n = 0; n < 5; n += 1) expect((await me(key)).body.limits.reads).toMatchObject({ limit: 2, remaining: 2 });
    const { status, body, headers } = await me(key);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      principal: { name: 'Documentation' },
      key: { name: 'First', prefix: key.slice(0, 18), expiresAt: '2999-01-01T00:00:00.000Z' },
      scopes: ['sites:write'],
      limits: { writes: { limit: 2, remaining: 2, windowSeconds: 3_600 } },
    });
    expect(JSON.stringify(body)).not.toContain(key);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '2',
      'ratelimit-policy': '"reads";q=2;w=3600',
      ratelimit: expect.stringMatching(/^"reads";r=2;t=\d+$/),
    });
  });

  it('is recorded in the audit log, without the key', async () => {
    const { key, keyId, principalId } = service.createPartnerKey();
    const { headers } = await me(key);
    const entry = await eventually(() => {
      const found = service.auditEntries.find(({ correlationId }) => correlationId === headers['x-request-id']);
      if (!found) throw new Error('no audit entry yet');
      return found;
    });
    expect(entry).toMatchObject({
      type: 'partner_api.request',
      actor: { type: 'api_key', id: principalId },
      data: { result: 'success', details: { resource: 'me', keyId } },
    });
    expect(JSON.stringify(entry)).not.toContain(key);
  });

  it('shows what other requests used, also when nothing is left', async () => {
    const { key } = service.createPartnerKey({ rateLimit: 2 });
    const read = () => service.request('get', '/partner-api/sites', key);
    for (const remaining of ['1', '0']) {
      const refused = await read(); // 403 counts: the key has no scope
      expect([refused.status, refused.headers['x-ratelimit-remaining']]).toEqual([403, remaining]);
      expect(refused.headers.ratelimit).toMatch(new RegExp(`^"reads";r=${remaining};t=\\d+$`));
    }
    const over = await read();
    expect([over.status, over.body.code]).toEqual([429, 'partner_api_rate_limited']);
    expect(over.headers['ratelimit-policy']).toBe('"reads";q=2;w=3600');
    const { status, body, headers } = await me(key);
    expect([status, headers['x-ratelimit-remaining']]).toEqual([200, '0']);
    expect(body.limits).toMatchObject({ reads: { remaining: 0 }, writes: { remaining: 2 } });
    expect(Date.parse(body.limits.reads.resetsAt)).toBeGreaterThan(Date.now());
  });

  it('has a limit of its own for each key', async () => {
    const [key, other] = [service.createPartnerKey().key, service.createPartnerKey().key];
    const statuses: number[] = [];
    for (let n = 0; n < 61; n += 1) statuses.push((await me(key)).status);
    expect([new Set(statuses.slice(0, 60)), statuses[60]]).toEqual([new Set([200]), 429]);
    const refused = await me(key);
    expect([refused.body.code, refused.headers['x-ratelimit-remaining']]).toEqual(['rate_limited', '600']);
    expect((await me(other)).status).toBe(200);
  });

  it('refuses a missing, an unknown and a foreign kind of key', async () => {
    const codes = [];
    for (const key of [undefined, `svc_sp_${'a'.repeat(43)}`, service.createApiKey()])
      codes.push((await me(key)).body.code);
    expect(codes).toEqual([
      'partner_api_auth_required',
      'partner_api_invalid_credentials',
      'api_key_not_accepted_here',
    ]);
    const { key: ended } = service.createPartnerKey({ status: 'revoked' });
    expect((await me(ended)).status).toBe(401);
  });

  it('counts failed authentications of an address', async () => {
    const from = (key: string) => me(key).set('X-Forwarded-For', '192.0.2.7');
    const { key: valid } = service.createPartnerKey();
    expect((await from(valid)).status).toBe(200);
    for (let n = 0; n < 30; n += 1) await Promise.all(Array.from({ length: 11 }, () => from('svc_sp_guess')));
    expect((await from(valid)).body.code).toBe('partner_api_auth_rate_limited');
  });
});
