import { eventually } from '@rmm/testing-services';
import {
  cookiesOf,
  expectStatus,
  freshAddress,
  IdentityTestApp,
  PASSWORD,
  type TestResponse,
  type IdentityReplica,
  withStatus,
} from '../../test/identity-test-app.js';
import {
  claimsOf,
  enrollTotp,
  inviteAndAccept,
  registerPartner,
  roleId,
  sessionOf,
  type TestUser,
} from '../../test/users.js';

const INVALID = { status: 401, body: { code: 'refresh_invalid' } };
const CLEARED = { service_refresh_token: '', service_csrf_token: '' };

/** Attacks on sessions, races and failures. */
describe('attacks on sessions', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let twin: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    [identity, twin] = await Promise.all([testApp.startReplica(), testApp.startReplica()]);
  }, 120_000);
  afterAll(() => testApp.stop());

  const signIn = async ({ email }: Pick<TestUser, 'email'>, options = {}) =>
    sessionOf(expectStatus(await identity.post('/auth/login', { email, password: PASSWORD }, options), 200));
  const someUser = async () => {
    const partner = await registerPartner(identity);
    return { ...partner, ...(await signIn(partner)) };
  };
  const csrfOf = (cookies: Record<string, string>) => ({ 'x-service-csrf': cookies.service_csrf_token ?? '' });
  const refresh = (cookies: Record<string, string>, at = identity, headers: Record<string, string> = csrfOf(cookies)) =>
    at.post('/auth/refresh', undefined, { cookies, headers });
  const logout = (cookies: Record<string, string>, headers: Record<string, string> = csrfOf(cookies)) =>
    identity.post('/auth/logout', undefined, { cookies, headers });
  const me = async (bearer: string, at = identity) => (await at.get('/auth/me', { bearer })).status;
  const living = (userId: string) =>
    testApp.query('select id from session_family where user_id = $1 and revoked_at is null', [userId]);
  const statuses = (responses: readonly TestResponse[]) => responses.map(({ status }) => status).sort();

  describe('refresh token', () => {
    it.each([
      ['has expired', `update refresh_token set expires_at = now() where user_id = $1`],
      ['belongs to a family past its end', `update session_family set absolute_expires_at = now() where user_id = $1`],
      ['belongs to a family that was revoked', `update session_family set revoked_at = now() where user_id = $1`],
      ['is of an older authentication epoch', `update user_account set auth_epoch = auth_epoch + 1 where id = $1`],
      ['is of an older MFA epoch', `update user_account set mfa_epoch = mfa_epoch + 1 where id = $1`],
      ['is of someUser disabled', `update user_account set status = 'disabled' where id = $1`],
      ['is of someUser without membership', `delete from partner_membership where user_id = $1`],
    ])(
      'that %s: refused, cookies cleared',
      async (_, change) => {
        const user = await someUser();
        await testApp.query(change, [user.userId]);
        const response = await refresh(user.cookies);
        expect(response).toMatchObject(INVALID);
        expect(cookiesOf(response)).toEqual(CLEARED);
      },
      30_000,
    );

    it('is refused and its cookies are cleared when it is unknown or an access token', async () => {
      const user = await someUser();
      for (const service_refresh_token of ['A'.repeat(43), user.bearer, "' or 1=1 --"]) {
        const response = await refresh({ ...user.cookies, service_refresh_token });
        expect(response).toMatchObject(INVALID);
        expect(cookiesOf(response)).toEqual(CLEARED);
        expect(await identity.post('/auth/refresh', { refreshToken: service_refresh_token })).toMatchObject(INVALID);
      }
      expect(await me(user.cookies.service_refresh_token ?? '')).toBe(401);
      expect((await refresh(user.cookies)).status).toBe(200);
    });

    it('expires after seven days and with its session', async () => {
      const user = await someUser();
      const lifetimes = () =>
        testApp.query<{ token: number; family: number }>(
          `select round(extract(epoch from t.expires_at - now()) / 3600)::int as token,
             round(extract(epoch from f.absolute_expires_at - f.created_at) / 3600)::int as family
           from refresh_token t join session_family f on f.id = t.family_id
           where t.user_id = $1 and t.rotated_at is null and f.method = 'password'`,
          [user.userId],
        );
      expect(await lifetimes()).toEqual([{ token: 168, family: 720 }]);
      await testApp.query(
        `update session_family set absolute_expires_at = now() + interval '5 hours' where user_id = $1`,
        [user.userId],
      );
      expectStatus(await refresh(user.cookies), 200);
      expect((await lifetimes())[0]?.token).toBe(5);
    });

    it('ends the session and records an audit entry when a replaced token is used', async () => {
      const user = await someUser();
      const thief = expectStatus(await refresh(user.cookies, twin), 200);
      await testApp.query(
        `update refresh_token set rotated_at = rotated_at - interval '16 seconds' where user_id = $1`,
        [user.userId],
      );
      expect(await refresh(user.cookies)).toMatchObject(INVALID);
      expect(await refresh(cookiesOf(thief), twin)).toMatchObject(INVALID);
      await eventually(async () => expect(await me(sessionOf(thief).bearer, twin)).toBe(401), { timeoutMs: 10_000 });
      await eventually(async () =>
        expect(
          await testApp.query(
            `select result from audit_entry where action = 'auth.refresh.reuse_detected' and actor_id = $1`,
            [user.userId],
          ),
        ).toEqual([{ result: 'denied' }]),
      );
    });

    it('is rotated once by ten concurrent requests to two replicas', async () => {
      const user = await someUser();
      const responses = await Promise.all(
        Array.from({ length: 10 }, (_, n) => refresh(user.cookies, n % 2 === 0 ? identity : twin)),
      );
      expect(statuses(responses)).toEqual([200, ...Array<number>(9).fill(409)]);
      expect(responses.filter(({ headers }) => headers['set-cookie'] !== undefined)).toHaveLength(1);
      const winner = withStatus(responses, 200);
      expect(await me(sessionOf(winner).bearer)).toBe(200);
      expect((await refresh(cookiesOf(winner), twin)).status).toBe(200);
    });

    it('keeps cookie and session when its rate limit is exceeded', async () => {
      const { cookies, bearer } = await someUser();
      let current = cookies;
      for (let n = 0; n < 60; n += 1) current = cookiesOf(expectStatus(await refresh(current), 200));
      const refused = await refresh(current);
      expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
      expect(refused.headers['set-cookie']).toBeUndefined();
      expect(await me(bearer)).toBe(200);
    });

    it('issues claims of the current user and the proven factor', async () => {
      const admin = await someUser();
      const viewer = await roleId(identity, admin.bearer, 'Partner Viewer');
      const technician = await roleId(identity, admin.bearer, 'Partner Technician');
      const member = await inviteAndAccept(identity, admin.bearer, { roleId: viewer });
      const enrolled = await enrollTotp(identity, member.bearer);
      expectStatus(
        await identity.post(`/users/${member.userId}/role`, { roleId: technician }, { bearer: admin.bearer }),
        200,
      );
      const fresh = sessionOf(expectStatus(await refresh(enrolled.cookies), 200));
      expect(claimsOf(fresh.bearer)).toMatchObject({ roleId: technician, mfa: true });
      expect(claimsOf(enrolled.bearer).sid).toBe(claimsOf(fresh.bearer).sid);
    });
  });

  describe('other site', () => {
    it('cannot refresh by form or script', async () => {
      const { cookies } = await someUser();
      const forged: Record<string, string>[] = [
        { origin: 'https://evil.test' },
        { 'sec-fetch-site': 'cross-site', ...csrfOf(cookies) },
        { origin: 'null', ...csrfOf(cookies) },
      ];
      for (const headers of forged) {
        const response = await refresh(cookies, identity, headers);
        expect(response).toMatchObject({ status: 403, body: { code: 'csrf_rejected' } });
        expect(response.headers['set-cookie']).toBeUndefined();
      }
      const form = await identity.post('/auth/refresh', undefined, {
        cookies,
        send: (request) => request.type('form').send('refreshToken=x'),
      });
      expect(form.status).toBe(415);
      const bare = { service_refresh_token: cookies.service_refresh_token ?? '' };
      const literal = { 'x-service-csrf': '1' };
      expect((await refresh(bare, identity, { ...literal, origin: 'https://app.test' })).status).toBe(403);
      expect((await refresh(bare, identity, literal)).status).toBe(200);
    });

    it('cannot log a user out', async () => {
      const { cookies, bearer } = await someUser();
      for (const headers of [{}, { ...csrfOf(cookies), origin: 'https://evil.test' }]) {
        const response = await logout(cookies, headers);
        expect(response).toMatchObject({ status: 403, body: { code: 'csrf_rejected' } });
        expect(response.headers['set-cookie']).toBeUndefined();
      }
      expect(await me(bearer)).toBe(200);
      expect((await refresh(cookies)).status).toBe(200);
    });
  });

  describe('logout with a bearer token that is no longer valid', () => {
    const dead = 'eyJhbGciOiJFUzI1NiJ9.e30.x';

    it('falls back to the refresh cookie with its CSRF header', async () => {
      const user = await someUser();
      const options = { cookies: user.cookies, headers: csrfOf(user.cookies), bearer: dead };
      const response = expectStatus(await identity.post('/auth/logout', undefined, options), 200);
      expect(cookiesOf(response)).toEqual(CLEARED);
      expect(await living(user.userId)).toEqual([]);
      expect(await me(user.bearer)).toBe(401);
    });

    it('changes nothing when the CSRF check refuses the cookie', async () => {
      const user = await someUser();
      const response = await identity.post('/auth/logout', undefined, { cookies: user.cookies, bearer: dead });
      expect(response).toMatchObject({ status: 403, body: { code: 'csrf_rejected' } });
      expect(response.headers['set-cookie']).toBeUndefined();
      expect(await me(user.bearer)).toBe(200);
    });

    it('returns 401 and clears both cookies when there is no session to end', async () => {
      const user = await someUser();
      const alone = await identity.post('/auth/logout', undefined, { bearer: dead });
      expect(alone.status).toBe(401);
      expect(cookiesOf(alone)).toEqual(CLEARED);
      await testApp.query('update session_family set revoked_at = now() where user_id = $1', [user.userId]);
      const ended = await logout(user.cookies);
      expect(ended).toMatchObject(INVALID);
      expect(cookiesOf(ended)).toEqual(CLEARED);
    });
  });

  it('audits refused refreshes and logouts under the owner of the token, repeats as one entry', async () => {
    const user = await someUser();
    const from = freshAddress();
    for (let n = 0; n < 3; n += 1) {
      await identity.post('/auth/refresh', undefined, { cookies: user.cookies, from });
    }
    await identity.post('/auth/logout', undefined, { cookies: user.cookies, from });
    await testApp.query('update session_family set revoked_at = now() where user_id = $1', [user.userId]);
    await identity.post('/auth/refresh', undefined, { cookies: user.cookies, headers: csrfOf(user.cookies), from });
    await eventually(async () =>
      expect(
        await testApp.query(
          `select partner_id as partner, result, details, resource_name as route from audit_entry
           where actor_id = $1 and action = 'access.denied' order by details ->> 'reason'`,
          [user.userId],
        ),
      ).toEqual([
        {
          partner: user.partnerId,
          result: 'denied',
          details: { reason: 'csrf_rejected' },
          route: 'POST /api/v1/auth/refresh',
        },
        {
          partner: user.partnerId,
          result: 'denied',
          details: { reason: 'refresh_invalid' },
          route: 'POST /api/v1/auth/refresh',
        },
      ]),
    );
  });

  it('keeps the 1,000 newest replaced tokens of a session and none that has expired', async () => {
    const user = await someUser();
    await testApp.query(
      `insert into refresh_token (family_id, user_id, token_hash, issued_at, expires_at, rotated_at)
       select f.id, f.user_id, sha256((f.id || n::text)::bytea), now() - make_interval(secs => n),
         now() + case when n <= 20 then interval '-1 minute' else interval '1 day' end, now()
       from session_family f, generate_series(1, 1500) n where f.user_id = $1 and f.method = 'password'`,
      [user.userId],
    );
    expectStatus(await refresh(user.cookies), 200);
    const [count] = await testApp.query<{ replaced: string; expired: string }>(
      `select count(*) filter (where t.rotated_at is not null) as replaced,
         count(*) filter (where t.expires_at < now()) as expired
       from refresh_token t join session_family f on f.id = t.family_id
       where f.user_id = $1 and f.method = 'password'`,
      [user.userId],
    );
    expect(Number(count?.replaced)).toBeLessThanOrEqual(1_000);
    expect(Number(count?.replaced)).toBeGreaterThan(900);
    expect(count?.expired).toBe('0');
  });

  describe('mixed sessions', () => {
    it('refreshes by the cookie and logs out by the bearer token', async () => {
      const [one, two] = [await someUser(), await someUser()];
      const mixed = { cookies: one.cookies, headers: csrfOf(one.cookies), bearer: two.bearer };
      const refreshed = expectStatus(await identity.post('/auth/refresh', undefined, mixed), 200);
      expect(claimsOf(sessionOf(refreshed).bearer).sub).toBe(one.userId);
      const left = expectStatus(
        await identity.post('/auth/logout', undefined, { cookies: cookiesOf(refreshed), bearer: two.bearer }),
        200,
      );
      expect(cookiesOf(left)).toEqual(CLEARED);
      expect(await me(two.bearer)).toBe(401);
      expect(await living(two.userId)).toEqual([]);
      expect(await me(one.bearer)).toBe(200);
      expect((await refresh(cookiesOf(refreshed))).status).toBe(200);
    });

    it('replaces a cookie that was set before the login', async () => {
      const [attacker, victim] = [await someUser(), await registerPartner(identity)];
      const session = await signIn(victim, { cookies: attacker.cookies, headers: csrfOf(attacker.cookies) });
      expect(session.cookies.service_refresh_token).not.toBe(attacker.cookies.service_refresh_token);
      expect(session.cookies.service_csrf_token).not.toBe(attacker.cookies.service_csrf_token);
      const own = expectStatus(await refresh(attacker.cookies), 200);
      expect(claimsOf(sessionOf(own).bearer).sub).toBe(attacker.userId);
      expect(claimsOf(sessionOf(expectStatus(await refresh(session.cookies), 200)).bearer).sub).toBe(victim.userId);
    });
  });

  describe('races', () => {
    it('gives one successor to twenty concurrent refreshes at two replicas', async () => {
      const user = await someUser();
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, n) => refresh(user.cookies, n % 2 ? twin : identity)),
      );
      expect(statuses(responses)).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
      const rows = await testApp.query(
        `select t.id from refresh_token t join session_family f on f.id = t.family_id
         where f.user_id = $1 and f.method = 'password' and t.rotated_at is null`,
        [user.userId],
      );
      expect(rows).toHaveLength(1);
    });

    it('leaves no active session after a logout with concurrent refreshes', async () => {
      for (let n = 0; n < 5; n += 1) {
        const user = await someUser();
        const [left, ...refreshed] = await Promise.all([
          identity.post('/auth/logout', undefined, { bearer: user.bearer }),
          refresh(user.cookies),
          refresh(user.cookies, twin),
        ]);
        expect(left.status).toBe(200);
        expect(await living(user.userId)).toEqual([]);
        for (const response of refreshed.filter(({ status }) => status === 200)) {
          expect(await refresh(cookiesOf(response))).toMatchObject(INVALID);
          expect(await me(sessionOf(response).bearer)).toBe(401);
        }
      }
    });

    it('leaves no session of the old password after a change with concurrent logins', async () => {
      const user = await someUser();
      const change = { currentPassword: PASSWORD, newPassword: 'another-horse-battery-8' };
      const responses = await Promise.all([
        identity.post('/auth/change-password', change, { bearer: user.bearer }),
        refresh(user.cookies, twin),
        twin.post('/auth/login', { email: user.email, password: PASSWORD }),
        twin.post('/auth/login', { email: user.email, password: PASSWORD }),
      ]);
      expect(responses[0]?.status).toBe(200);
      for (const response of responses.slice(1).filter(({ status }) => status === 200)) {
        await eventually(async () => expect(await me(sessionOf(response).bearer, twin)).toBe(401), {
          timeoutMs: 10_000,
        });
        expect(await refresh(cookiesOf(response))).toMatchObject(INVALID);
      }
    });

    it('creates one session for two concurrent switches', async () => {
      const user = await someUser();
      const switchTo = () => identity.post('/auth/switch', { partnerId: user.partnerId }, { bearer: user.bearer });
      const responses = await Promise.all([switchTo(), switchTo(), switchTo()]);
      expect(statuses(responses)).toEqual([200, 401, 401]);
      expect(await me(sessionOf(withStatus(responses, 200)).bearer)).toBe(200);
    });
  });

  describe('failures', () => {
    it('returns 500, clears cookies and records an audit entry when a logout cannot be stored', async () => {
      const user = await someUser();
      await testApp.query(`
        create function refuse_logout() returns trigger language plpgsql as $$ begin raise 'no'; end $$`);
      await testApp.query(`
        create trigger refuse_logout before update on session_family for each row
        when (new.revoked_reason = 'logout') execute function refuse_logout()`);
      try {
        const response = await identity.post('/auth/logout', undefined, { bearer: user.bearer });
        expect(response.status).toBe(500);
        expect(cookiesOf(response)).toEqual(CLEARED);
      } finally {
        await testApp.query('drop trigger refuse_logout on session_family');
        await testApp.query('drop function refuse_logout()');
      }
      await eventually(async () =>
        expect(
          await testApp.query(`select result from audit_entry where action = 'user.logout' and actor_id = $1`, [
            user.userId,
          ]),
        ).toEqual([{ result: 'failure' }]),
      );
      expect(await me(user.bearer)).toBe(200);
    });

    it('requires exactly one membership to switch to', async () => {
      const { bearer, partnerId } = await someUser();
      for (const body of [{}, { partnerId, orgId: partnerId }, { partnerId: 'x' }, { partnerId, admin: true }]) {
        const response = await identity.post('/auth/switch', body, { bearer });
        expect(response).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      }
      expect((await identity.post('/auth/switch', { orgId: partnerId }, { bearer })).status).toBe(404);
      expect(await me(bearer)).toBe(200);
    });

    it('returns 401 for malformed authorization headers', async () => {
      const { bearer } = await someUser();
      const from = freshAddress();
      for (const authorization of [
        `Bearer`,
        `Bearer  `,
        `Bearer\t${bearer}x`,
        `Basic ${bearer}`,
        bearer,
        `Bearer ${bearer}.`,
      ]) {
        expect((await identity.get('/auth/me', { headers: { authorization }, from })).status).toBe(401);
        expect((await identity.post('/auth/logout', undefined, { headers: { authorization }, from })).status).toBe(401);
      }
      expect(await me(bearer)).toBe(200);
    });
  });
});
