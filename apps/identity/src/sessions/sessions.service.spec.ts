import {
  cookiesOf,
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
  withStatus,
} from '../../test/identity-test-app.js';
import { FIREFOX, NEWER_FIREFOX, SAFARI, SessionsClient } from '../../test/sessions.js';
import { registerPartner, sessionOf } from '../../test/users.js';

describe('SessionsService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
  }, 120_000);
  afterAll(() => testApp.stop());

  const signIn = async () => {
    const partner = await registerPartner(identity);
    return {
      ...partner,
      ...sessionOf(await identity.post('/auth/login', { email: partner.email, password: PASSWORD })),
    };
  };
  const refresh = (
    cookies: Record<string, string>,
    headers: Record<string, string> = { 'x-service-csrf': cookies.service_csrf_token ?? '' },
  ) => identity.post('/auth/refresh', undefined, { cookies, headers });
  const ageRotation = (userId: string, seconds: number) =>
    testApp.query(
      `update refresh_token set rotated_at = rotated_at - make_interval(secs => $2) where user_id = $1 and rotated_at is not null`,
      [userId, seconds],
    );

  it('rotates cookies and tokens and invalidates the old token', async () => {
    const user = await signIn();
    const first = expectStatus(await refresh(user.cookies), 200);
    expect(first.body).toEqual({
      tokens: { accessToken: expect.any(String), expiresInSeconds: 900 },
      csrfToken: expect.any(String),
    });
    expect(cookiesOf(first).service_refresh_token).not.toBe(user.cookies.service_refresh_token);
    expect((await identity.get('/auth/me', { bearer: sessionOf(first).bearer })).status).toBe(200);
    expect((await refresh(cookiesOf(first))).status).toBe(200);
  });

  it('refreshes once for two concurrent requests and asks the other to retry', async () => {
    const user = await signIn();
    const responses = await Promise.all([refresh(user.cookies), refresh(user.cookies)]);
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409]);
    const loser = withStatus(responses, 409);
    expect(loser.body.code).toBe('refresh_raced');
    expect(loser.headers['retry-after']).toBe('1');
    expect(loser.headers['set-cookie']).toBeUndefined();
    const winner = withStatus(responses, 200);
    expect((await refresh(cookiesOf(winner))).status).toBe(200);
  });

  it('ends the session when a replaced token is used after the grace time', async () => {
    const user = await signIn();
    const first = expectStatus(await refresh(user.cookies), 200);
    await ageRotation(user.userId, 16);
    const replay = await refresh(user.cookies);
    expect(replay).toMatchObject({ status: 401, body: { code: 'refresh_invalid' } });
    expect(cookiesOf(replay)).toEqual({ service_refresh_token: '', service_csrf_token: '' });
    expect((await refresh(cookiesOf(first))).status).toBe(401);
    expect((await identity.get('/auth/me', { bearer: sessionOf(first).bearer })).status).toBe(401);
  });

  it('refuses a forged refresh and keeps the session', async () => {
    const user = await signIn();
    for (const headers of [
      {},
      { 'x-service-csrf': '1' },
      { 'x-service-csrf': user.cookies.service_csrf_token, origin: 'https://evil.test' },
    ]) {
      const refused = await refresh(user.cookies, headers as Record<string, string>);
      expect(refused).toMatchObject({ status: 403, body: { code: 'csrf_rejected' } });
      expect(refused.headers['set-cookie']).toBeUndefined();
    }
    expect((await refresh({})).status).toBe(401);
    expect((await refresh(user.cookies)).status).toBe(200);
  });

  it('returns the refresh token to clients that send it in the body', async () => {
    const user = await signIn();
    const response = expectStatus(
      await identity.post('/auth/refresh', { refreshToken: user.cookies.service_refresh_token }),
      200,
    );
    expect(response.body.refreshToken).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(response.headers['set-cookie']).toBeUndefined();
    const asRefresh = await identity.post('/auth/refresh', { refreshToken: user.bearer });
    expect(asRefresh).toMatchObject({ status: 401, body: { code: 'refresh_invalid' } });
  });

  it('ends at a logout by token or cookie', async () => {
    const user = await signIn();
    const out = expectStatus(await identity.post('/auth/logout', undefined, { bearer: user.bearer }), 200);
    expect(out.body).toEqual({ success: true });
    expect(cookiesOf(out)).toEqual({ service_refresh_token: '', service_csrf_token: '' });
    expect((await identity.get('/auth/me', { bearer: user.bearer })).status).toBe(401);
    expect((await refresh(user.cookies)).status).toBe(401);

    const other = await signIn();
    const headers = { 'x-service-csrf': other.cookies.service_csrf_token };
    expect((await identity.post('/auth/logout', undefined, { cookies: other.cookies })).status).toBe(403);
    expect((await identity.post('/auth/logout', undefined, { cookies: other.cookies, headers })).status).toBe(200);
    expect((await identity.get('/auth/me', { bearer: other.bearer })).status).toBe(401);
    expect((await identity.post('/auth/logout')).status).toBe(401);
  });

  it('switches only to memberships of the user', async () => {
    const user = await signIn();
    const foreign = await registerPartner(identity);
    const refused = await identity.post('/auth/switch', { partnerId: foreign.partnerId }, { bearer: user.bearer });
    expect(refused.status).toBe(404);
    const same = expectStatus(
      await identity.post('/auth/switch', { partnerId: user.partnerId }, { bearer: user.bearer }),
      200,
    );
    const ends = await testApp.query<{ ends: Date }>(
      `select distinct absolute_expires_at as ends from session_family where user_id = $1 and method = 'password'`,
      [user.userId],
    );
    expect(ends).toHaveLength(1);
    expect((await identity.get('/auth/me', { bearer: user.bearer })).status).toBe(401);
    expect((await identity.get('/auth/me', { bearer: sessionOf(same).bearer })).body.memberships).toEqual([
      expect.objectContaining({
        partnerId: user.partnerId,
        scope: 'partner',
        current: true,
        roleName: 'Partner Admin',
      }),
    ]);
  });

  describe('list', () => {
    let client: SessionsClient;
    beforeAll(() => (client = new SessionsClient(identity)));

    it('returns device, address, times, method and membership, and marks the current session', async () => {
      const user = await registerPartner(identity);
      const { bearer } = await client.signIn(user, SAFARI, '203.0.113.77');
      const { data, pagination } = await client.list(bearer);
      expect(pagination).toEqual({ page: 1, limit: 50, total: 2 });
      expect(data[0]).toEqual({
        id: expect.any(String),
        device: 'Safari on macOS',
        ipAddress: '203.0.113.77',
        userAgent: SAFARI,
        method: 'password',
        mfa: false,
        createdAt: expect.stringMatching(/Z$/),
        lastUsedAt: expect.stringMatching(/Z$/),
        expiresAt: expect.stringMatching(/Z$/),
        current: true,
        membership: { scope: 'partner', partnerId: user.partnerId, orgId: null },
      });
      expect(data[1]).toMatchObject({ method: 'registration', current: false });
      expect((await client.list(bearer, '?limit=1&page=2')).data).toEqual([data[1]]);
      expect((await client.list(bearer, '?page=3')).data).toEqual([]);
      expect(await identity.get('/auth/sessions?limit=101', { bearer })).toMatchObject({
        status: 400,
        body: { code: 'validation_failed' },
      });
      expect((await identity.get('/auth/sessions')).status).toBe(401);
    });

    it('returns the client of the last refresh', async () => {
      const user = await registerPartner(identity);
      const { bearer, cookies } = await client.signIn(user, FIREFOX, '203.0.113.10');
      const id = await client.currentId(bearer);
      await testApp.query(`update session_family set last_used_at = now() - interval '1 day' where id = $1`, [id]);
      expectStatus(await client.refresh(cookies, NEWER_FIREFOX, '198.51.100.9'), 200);
      const [session] = (await client.list(bearer)).data;
      expect(session).toMatchObject({ id, ipAddress: '198.51.100.9', userAgent: NEWER_FIREFOX });
      const [row] = await testApp.query<{ fresh: boolean }>(
        `select last_used_at > now() - interval '1 minute' as fresh from session_family where id = $1`,
        [id],
      );
      expect(row?.fresh).toBe(true);
    });

    it('omits sessions that are revoked, expired, without a valid token or of an older epoch', async () => {
      const user = await registerPartner(identity);
      const dead = [];
      for (let n = 0; n < 3; n += 1) dead.push(await client.currentId((await client.signIn(user)).bearer));
      await testApp.query('update session_family set revoked_at = now() where id = $1', [dead[0]]);
      await testApp.query('update session_family set absolute_expires_at = now() where id = $1', [dead[1]]);
      await testApp.query('update refresh_token set expires_at = now() where family_id = $1', [dead[2]]);
      await testApp.query(
        `update session_family set auth_epoch = auth_epoch - 1 where user_id = $1 and method <> 'password'`,
        [user.userId],
      );
      const { bearer } = await client.signIn(user);
      expect((await client.list(bearer)).data).toEqual([expect.objectContaining({ current: true })]);
    });
  });
});
