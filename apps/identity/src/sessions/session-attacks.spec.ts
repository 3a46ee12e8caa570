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
import { enrollTotp, inviteAndAccept, registerPartner, roleId, sessionOf, type TestUser } from '../../test/users.js';

const INVALID = { status: 401, body: { code: 'refresh_invalid' } };
const CLEARED = { service_refresh_token: '', service_csrf_token: '' };

/** What becomes of sessions when somebody, or bad luck, works against them. @see CONTRACT.md 2.3 to 2.7 */
describe('an attack on sessions', () => {
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
  const somebody = async () => {
    const partner = await registerPartner(identity);
    return { ...partner, ...(await signIn(partner)) };
  };
  const csrfOf = (cookies: Record<string, string>) => ({ 'x-service-csrf': cookies.service_csrf_token ?? '' });
  const refresh = (cookies: Record<string, string>, at = identity, headers: Record<string, string> = csrfOf(cookies)) =>
    at.post('/auth/refresh', undefined, { cookies, headers });
  const logout = (cookies: Record<string, string>, headers: Record<string, string> = csrfOf(cookies)) =>
    identity.post('/auth/logout', undefined, { cookies, headers });
  const me = async (bearer: string, at = identity) => (await at.get('/auth/me', { bearer })).status;
  const claimsOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
  const living = (userId: string) =>
    testApp.query('select id from session_family where user_id = $1 and revoked_at is null', [userId]);
  const statuses = (answers: readonly TestResponse[]) => answers.map(({ status }) => status).sort();

  describe('with a refresh token', () => {
    it.each([
      ['has expired', `update refresh_token set expires_at = now() where user_id = $1`],
      ['belongs to a family past its end', `update session_family set absolute_expires_at = now() where user_id = $1`],
      ['belongs to a family that was revoked', `update session_family set revoked_at = now() where user_id = $1`],
      ['is of an older authentication epoch', `update user_account set auth_epoch = auth_epoch + 1 where id = $1`],
      ['is of an older MFA epoch', `update user_account set mfa_epoch = mfa_epoch + 1 where id = $1`],
      ['is of somebody disabled', `update user_account set status = 'disabled' where id = $1`],
      ['is of somebody without membership', `delete from partner_membership where user_id = $1`],
    ])(
      'that %s: refused, cookies cleared',
      async (_, change) => {
        const user = await somebody();
        await testApp.query(change, [user.userId]);
        const answer = await refresh(user.cookies);
        expect(answer).toMatchObject(INVALID);
        expect(cookiesOf(answer)).toEqual(CLEARED);
      },
      30_000,
    );

    it('that nobody issued, or an access token in its place: refused, cookies cleared', async () => {
      const user = await somebody();
      for (const service_refresh_token of ['A'.repeat(43), user.bearer, "' or 1=1 --"]) {
        const answer = await refresh({ ...user.cookies, service_refresh_token });
        expect(answer).toMatchObject(INVALID);
        expect(cookiesOf(answer)).toEqual(CLEARED);
        expect(await identity.post('/auth/refresh', { refreshToken: service_refresh_token })).toMatchObject(INVALID);
      }
      expect(await me(user.cookies.service_refresh_token ?? '')).toBe(401);
      expect((await refresh(user.cookies)).status).toBe(200);
    }, 30_000);

    it('outlives neither seven days nor its family', async () => {
      const user = await somebody();
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
    }, 30_000);

    it('that was stolen and used later ends the family for both, and is written down', async () => {
      const user = await somebody();
      const thief = expectStatus(await refresh(user.cookies, twin), 200);
      await testApp.query(
        `update refresh_token set rotated_at = rotated_at - interval '16 seconds' where user_id = $1`,
        [user.userId],
      );
      expect(await refresh(user.cookies)).toMatchObject(INVALID);
      expect(await refresh(cookiesOf(thief), twin)).toMatchObject(INVALID);
      await eventually(async () => expect(await me(sessionOf(thief).bearer, twin)).toBe(401), { timeoutMs: 1_000 });
      await eventually(async () =>
        expect(
          await testApp.query(
            `select result from audit_entry where action = 'auth.refresh.reuse_detected' and actor_id = $1`,
            [user.userId],
          ),
        ).toEqual([{ result: 'denied' }]),
      );
    }, 30_000);

    it('used ten times at once on two replicas: one lineage, and nobody is signed out', async () => {
      const user = await somebody();
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) => refresh(user.cookies, n % 2 === 0 ? identity : twin)),
      );
      expect(statuses(answers)).toEqual([200, ...Array<number>(9).fill(409)]);
      expect(answers.filter(({ headers }) => headers['set-cookie'] !== undefined)).toHaveLength(1);
      const winner = withStatus(answers, 200);
      expect(await me(sessionOf(winner).bearer)).toBe(200);
      expect((await refresh(cookiesOf(winner), twin)).status).toBe(200);
    }, 30_000);

    it('over its limit is sent away, and keeps cookie and session', async () => {
      const { cookies, bearer } = await somebody();
      let current = cookies;
      for (let n = 0; n < 60; n += 1) current = cookiesOf(expectStatus(await refresh(current), 200));
      const refused = await refresh(current);
      expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
      expect(refused.headers['set-cookie']).toBeUndefined();
      expect(await me(bearer)).toBe(200);
    }, 60_000);

    it('carries what its owner is now, and the factor that was proven', async () => {
      const admin = await somebody();
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
    }, 30_000);
  });

  describe('from another site', () => {
    it('cannot refresh, by form or by script', async () => {
      const { cookies } = await somebody();
      const forged: Record<string, string>[] = [
        { origin: 'https://evil.test' },
        { 'sec-fetch-site': 'cross-site', ...csrfOf(cookies) },
        { origin: 'null', ...csrfOf(cookies) },
      ];
      for (const headers of forged) {
        const answer = await refresh(cookies, identity, headers);
        expect(answer).toMatchObject({ status: 403, body: { code: 'csrf_rejected' } });
        expect(answer.headers['set-cookie']).toBeUndefined();
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
    }, 30_000);

    it('cannot sign anybody out', async () => {
      const { cookies, bearer } = await somebody();
      for (const headers of [{}, { ...csrfOf(cookies), origin: 'https://evil.test' }]) {
        const answer = await logout(cookies, headers);
        expect(answer).toMatchObject({ status: 403, body: { code: 'csrf_rejected' } });
        expect(answer.headers['set-cookie']).toBeUndefined();
      }
      expect(await me(bearer)).toBe(200);
      expect((await refresh(cookies)).status).toBe(200);
    }, 30_000);
  });

  describe('by mixing sessions', () => {
    it('gains nothing: a refresh follows the cookie, a logout the bearer', async () => {
      const [one, two] = [await somebody(), await somebody()];
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
    }, 30_000);

    it('fixes no session on anybody: a cookie set beforehand does not survive the login', async () => {
      const [attacker, victim] = [await somebody(), await registerPartner(identity)];
      const session = await signIn(victim, { cookies: attacker.cookies, headers: csrfOf(attacker.cookies) });
      expect(session.cookies.service_refresh_token).not.toBe(attacker.cookies.service_refresh_token);
      expect(session.cookies.service_csrf_token).not.toBe(attacker.cookies.service_csrf_token);
      const own = expectStatus(await refresh(attacker.cookies), 200);
      expect(claimsOf(sessionOf(own).bearer).sub).toBe(attacker.userId);
      expect(claimsOf(sessionOf(expectStatus(await refresh(session.cookies), 200)).bearer).sub).toBe(victim.userId);
    }, 30_000);
  });

  describe('by racing', () => {
    it('a logout with refreshes leaves nothing alive', async () => {
      for (let n = 0; n < 5; n += 1) {
        const user = await somebody();
        const [left, ...refreshed] = await Promise.all([
          identity.post('/auth/logout', undefined, { bearer: user.bearer }),
          refresh(user.cookies),
          refresh(user.cookies, twin),
        ]);
        expect(left.status).toBe(200);
        expect(await living(user.userId)).toEqual([]);
        for (const answer of refreshed.filter(({ status }) => status === 200)) {
          expect(await refresh(cookiesOf(answer))).toMatchObject(INVALID);
          expect(await me(sessionOf(answer).bearer)).toBe(401);
        }
      }
    }, 60_000);

    it('a password change with refreshes and logins leaves no session of the old password', async () => {
      const user = await somebody();
      const change = { currentPassword: PASSWORD, newPassword: 'another-horse-battery-8' };
      const answers = await Promise.all([
        identity.post('/auth/change-password', change, { bearer: user.bearer }),
        refresh(user.cookies, twin),
        twin.post('/auth/login', { email: user.email, password: PASSWORD }),
        twin.post('/auth/login', { email: user.email, password: PASSWORD }),
      ]);
      expect(answers[0]?.status).toBe(200);
      for (const answer of answers.slice(1).filter(({ status }) => status === 200)) {
        await eventually(async () => expect(await me(sessionOf(answer).bearer, twin)).toBe(401), { timeoutMs: 1_000 });
        expect(await refresh(cookiesOf(answer))).toMatchObject(INVALID);
      }
    }, 30_000);

    it('two switches at once make one session', async () => {
      const user = await somebody();
      const switchTo = () => identity.post('/auth/switch', { partnerId: user.partnerId }, { bearer: user.bearer });
      const answers = await Promise.all([switchTo(), switchTo(), switchTo()]);
      expect(statuses(answers)).toEqual([200, 401, 401]);
      expect(await me(sessionOf(withStatus(answers, 200)).bearer)).toBe(200);
    }, 30_000);
  });

  describe('by a bad day', () => {
    it('a logout that cannot be stored is a 500 with cleared cookies, and a row about it', async () => {
      const user = await somebody();
      await testApp.query(`
        create function refuse_logout() returns trigger language plpgsql as $$ begin raise 'no'; end $$`);
      await testApp.query(`
        create trigger refuse_logout before update on session_family for each row
        when (new.revoked_reason = 'logout') execute function refuse_logout()`);
      try {
        const answer = await identity.post('/auth/logout', undefined, { bearer: user.bearer });
        expect(answer.status).toBe(500);
        expect(cookiesOf(answer)).toEqual(CLEARED);
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
    }, 30_000);

    it('asks for exactly one membership to switch to', async () => {
      const { bearer, partnerId } = await somebody();
      for (const body of [{}, { partnerId, orgId: partnerId }, { partnerId: 'x' }, { partnerId, admin: true }]) {
        const answer = await identity.post('/auth/switch', body, { bearer });
        expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      }
      expect((await identity.post('/auth/switch', { orgId: partnerId }, { bearer })).status).toBe(404);
      expect(await me(bearer)).toBe(200);
    }, 30_000);

    it('presents a bearer in odd ways, none of which crashes the door', async () => {
      const { bearer } = await somebody();
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
    }, 30_000);
  });
});
