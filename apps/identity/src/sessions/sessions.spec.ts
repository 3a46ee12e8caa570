import {
  ADMIN,
  cookiesOf,
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
  withStatus,
} from '../../test/identity-test-app.js';
import { registerPartner, sessionOf, signInAdmin } from '../../test/users.js';

describe('sessions', () => {
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

  it('rotate: new cookies, a token that works, and the old one is done', async () => {
    const user = await signIn();
    const first = expectStatus(await refresh(user.cookies), 200);
    expect(first.body).toEqual({
      tokens: { accessToken: expect.any(String), expiresInSeconds: 900 },
      csrfToken: expect.any(String),
    });
    expect(cookiesOf(first).service_refresh_token).not.toBe(user.cookies.service_refresh_token);
    expect((await identity.get('/auth/me', { bearer: sessionOf(first).bearer })).status).toBe(200);
    expect((await refresh(cookiesOf(first))).status).toBe(200);
  }, 30_000);

  it('let one of two refreshes at once win; the other is told to repeat, and nobody is signed out', async () => {
    const user = await signIn();
    const answers = await Promise.all([refresh(user.cookies), refresh(user.cookies)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const loser = withStatus(answers, 409);
    expect(loser.body.code).toBe('refresh_raced');
    expect(loser.headers['retry-after']).toBe('1');
    expect(loser.headers['set-cookie']).toBeUndefined();
    const winner = withStatus(answers, 200);
    expect((await refresh(cookiesOf(winner))).status).toBe(200);
  }, 30_000);

  it('end the whole family when an old token comes back after the grace', async () => {
    const user = await signIn();
    const first = expectStatus(await refresh(user.cookies), 200);
    await ageRotation(user.userId, 16);
    const replay = await refresh(user.cookies);
    expect(replay).toMatchObject({ status: 401, body: { code: 'refresh_invalid' } });
    expect(cookiesOf(replay)).toEqual({ service_refresh_token: '', service_csrf_token: '' });
    expect((await refresh(cookiesOf(first))).status).toBe(401);
    expect((await identity.get('/auth/me', { bearer: sessionOf(first).bearer })).status).toBe(401);
  }, 30_000);

  it('refuse a forged refresh, and keep the session', async () => {
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
  }, 30_000);

  it('serve clients that keep the token themselves, without cookies', async () => {
    const user = await signIn();
    const answer = expectStatus(
      await identity.post('/auth/refresh', { refreshToken: user.cookies.service_refresh_token }),
      200,
    );
    expect(answer.body.refreshToken).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(answer.headers['set-cookie']).toBeUndefined();
    const asRefresh = await identity.post('/auth/refresh', { refreshToken: user.bearer });
    expect(asRefresh).toMatchObject({ status: 401, body: { code: 'refresh_invalid' } });
  }, 30_000);

  it('end with a logout, by token or by cookie', async () => {
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
  }, 30_000);

  it('end everywhere when the password changes, which the wrong current one does not do', async () => {
    const bearer = await signInAdmin(identity);
    const wrong = await identity.post(
      '/auth/change-password',
      { currentPassword: 'nope', newPassword: 'violet umbrella tango' },
      { bearer },
    );
    expect(wrong).toMatchObject({
      status: 400,
      body: { code: 'invalid_credentials', message: 'Current password is incorrect' },
    });
    const weak = await identity.post(
      '/auth/change-password',
      { currentPassword: ADMIN.password, newPassword: 'password' },
      { bearer },
    );
    expect(weak).toMatchObject({ status: 400, body: { code: 'weak_password' } });
    expectStatus(
      await identity.post(
        '/auth/change-password',
        { currentPassword: ADMIN.password, newPassword: 'violet umbrella tango' },
        { bearer },
      ),
      200,
    );
    expect((await identity.get('/users/me', { bearer })).status).toBe(401);
    const login = expectStatus(
      await identity.post('/auth/login', { email: ADMIN.email, password: 'violet umbrella tango' }),
      200,
    );
    expect(login.body.requiresSetup).toBe(false);
  }, 30_000);

  it('act in a membership of their own only', async () => {
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
  }, 30_000);
});
