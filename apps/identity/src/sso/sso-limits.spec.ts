import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import { freshAddress, type TestResponse } from '../../test/identity-test-app.js';
import { errorOf, SsoTestApp, type SsoOwner } from '../../test/sso-test-app.js';
import { registerPartner } from '../../test/users.js';

const WINDOW_SECONDS = 300;
/** The global limit of an address would end the 300 requests of the default. */
const BACKCHANNEL_LIMIT = 5;
const CODE = 'c'.repeat(48);

/** A route with its limit, and the status that requests within it get here. */
interface LimitedRoute {
  limit: number;
  windowSeconds?: number;
  within: number;
  send: (from: string) => Promise<TestResponse>;
}

describe('the rate limits of single sign-on', () => {
  let sso: SsoTestApp;
  let owner: SsoOwner;

  beforeAll(async () => {
    sso = await SsoTestApp.start({ RATE_LIMIT_SSO_BACKCHANNEL_LOGOUT: `${BACKCHANNEL_LIMIT}/${WINDOW_SECONDS}` });
    owner = await sso.owner();
  }, 120_000);
  afterAll(() => sso.stop());

  const target = randomUUID();
  const login = (path: string, from: string) => sso.identity.get(`/sso/login/${path}`, { from });
  const callback = (from: string) => sso.identity.get('/sso/callback?state=x', { from });

  const guarded: Record<string, LimitedRoute> = {
    'a login at an organization': { limit: 10, within: 404, send: (from) => login(target, from) },
    'a login at a partner': { limit: 10, within: 404, send: (from) => login(`partner/${target}`, from) },
    'logins at any target': { limit: 30, within: 404, send: (from) => login(randomUUID(), from) },
    'an exchange': {
      limit: 30,
      within: 400,
      send: (from) => sso.identity.post('/sso/exchange', { code: CODE }, { from }),
    },
    discovery: {
      limit: 20,
      within: 200,
      send: (from) => sso.identity.post('/auth/sso-discovery', { email: 'anyone@acme.test' }, { from }),
    },
    'a back-channel logout': {
      limit: BACKCHANNEL_LIMIT,
      within: 400,
      send: (from) =>
        sso.identity.post(`/sso/backchannel-logout/${target}`, undefined, {
          from,
          send: (request) => request.type('form').send('logout_token=x'),
        }),
    },
  };
  const lenient: Record<string, LimitedRoute> = {
    'the check of an organization': {
      limit: 30,
      windowSeconds: 60,
      within: 200,
      send: (from) => sso.identity.get(`/sso/check/${target}`, { from }),
    },
    'the login context': {
      limit: 30,
      windowSeconds: 60,
      within: 200,
      send: (from) => sso.identity.get('/auth/login-context', { from }),
    },
  };

  it.each(Object.entries({ ...guarded, ...lenient }))('refuse %s over the limit of an address', async (_, route) => {
    const from = freshAddress();
    const responses = await Promise.all(Array.from({ length: route.limit + 1 }, () => route.send(from)));
    const refused = responses.filter(({ status }) => status === 429);
    expect(responses.filter(({ status }) => status === route.within)).toHaveLength(route.limit);
    expect(refused).toHaveLength(1);
    expect(refused[0]?.body.code).toBe('rate_limited');
    const retryAfter = Number(refused[0]?.headers['retry-after']);
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(route.windowSeconds ?? WINDOW_SECONDS);
    expect((await route.send(freshAddress())).status).toBe(route.within);
  });

  it('send the browser of a callback over the limit to the login page', async () => {
    const from = freshAddress();
    const responses = await Promise.all(Array.from({ length: 31 }, () => callback(from)));
    expect(responses.map(errorOf).filter((code) => code === 'rate_limited')).toHaveLength(1);
    expect(errorOf(await callback(freshAddress()))).not.toBe('rate_limited');
  });

  it('refuse tests of providers and proofs of domains of a user together', async () => {
    const paths = [`/sso/providers/${target}/test`, `/sso/domains/${target}/verify`];
    const statuses: number[] = [];
    for (let n = 0; n < 11; n += 1) {
      statuses.push((await sso.identity.post(paths[n % 2] ?? '', {}, owner)).status);
    }
    expect(statuses).toEqual([...Array<number>(10).fill(404), 429]);
  });

  describe('without Redis', () => {
    beforeAll(() => sso.testApp.stores.redis.stop());
    afterAll(async () => {
      await sso.testApp.stores.redis.start();
      // A queue that has no connection yet would keep the service from stopping; the mail of a registration shows that it has one.
      await eventually(() => registerPartner(sso.identity), { timeoutMs: 90_000 });
    }, 120_000);

    it.each(Object.entries(guarded))('refuse %s', async (_, { send }) => {
      const response = await send(freshAddress());
      expect(response).toMatchObject({ status: 503, body: { code: 'service_unavailable' } });
      expect(response.headers['retry-after']).toBeDefined();
    });

    it.each(Object.entries(lenient))('let %s pass', async (_, { send, within }) => {
      expect((await send(freshAddress())).status).toBe(within);
    });

    it('send the browser of a callback to the login page', async () => {
      expect(errorOf(await callback(freshAddress()))).toBe('sso_error');
    });
  });
});
