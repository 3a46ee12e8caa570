import { hashKey } from '@rmm/secrets';
import { RedisConnections } from '@rmm/service-kit';
import {
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type TestResponse,
  type IdentityReplica,
  withStatus,
} from '../../test/identity-test-app.js';
import {
  enrollTotp,
  inviteAndAccept,
  registerPartner,
  registerProtectedPartner,
  roleId,
  sessionOf,
} from '../../test/users.js';

const invalid = { status: 400, body: { code: 'mfa_code_invalid' } };
const ended = { status: 401, body: { code: 'mfa_session_invalid' } };

/** Attacks by a user who knows the password and lacks the factor. */
describe('attacks on the second factor', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let twin: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    [identity, twin] = await Promise.all([testApp.startReplica(), testApp.startReplica()]);
  }, 120_000);
  afterAll(() => testApp.stop());

  const enrolled = () => registerProtectedPartner(identity);
  const tempToken = async (email: string): Promise<string> => {
    const { body } = expectStatus(await identity.post('/auth/login', { email, password: PASSWORD }), 200);
    return body.tempToken as string;
  };
  const verify = (body: object, at = identity, bearer?: string) => at.post('/auth/mfa/verify', body, { bearer });
  const redis = () => identity.app.get(RedisConnections, { strict: false }).shared;
  const statuses = (responses: TestResponse[]) => responses.map(({ status }) => status).sort();
  const secretOf = async (userId: string) => {
    const [row] = await testApp.query<{ sealed: string }>(
      'select secret_sealed as sealed from totp_factor where user_id = $1',
      [userId],
    );
    return row?.sealed;
  };

  describe('temporary token', () => {
    it('is refused after 300 seconds', async () => {
      const user = await enrolled();
      const token = await tempToken(user.email);
      const key = `rmm:identity:mfa-login:{${hashKey(token).toString('hex')}}`;
      const ttl = await redis().ttl(key);
      expect(ttl).toBeGreaterThan(0);
      expect(ttl).toBeLessThanOrEqual(300);
      await redis().pexpire(key, 0);
      expect(await verify({ tempToken: token, code: totpCode(user.secret) })).toMatchObject(ended);
    });

    it('is refused after a password change, a disabled account or a lost membership', async () => {
      const changes = [
        (userId: string) =>
          testApp.query('update user_account set auth_epoch = auth_epoch + 1 where id = $1', [userId]),
        (userId: string) => testApp.query(`update user_account set status = 'disabled' where id = $1`, [userId]),
        (userId: string) => testApp.query('delete from partner_membership where user_id = $1', [userId]),
        (userId: string) => testApp.query('update user_account set mfa_epoch = mfa_epoch + 1 where id = $1', [userId]),
        (userId: string) => testApp.query(`update user_account set mfa_method = 'sms' where id = $1`, [userId]),
      ];
      for (const change of changes) {
        const user = await enrolled();
        const token = await tempToken(user.email);
        await change(user.userId);
        const code = totpCode(user.secret);
        expect(await verify({ tempToken: token, code })).toMatchObject(ended);
        await testApp.query(`update user_account set status = 'active', mfa_method = 'totp' where id = $1`, [
          user.userId,
        ]);
        expect(await verify({ tempToken: token, code })).toMatchObject(ended);
      }
    });

    it('is accepted once when several replicas receive it concurrently', async () => {
      const user = await enrolled();
      const token = await tempToken(user.email);
      const codes = [totpCode(user.secret, 0), totpCode(user.secret, 1), ...user.recoveryCodes.slice(0, 2)];
      const responses = await Promise.all(
        codes.map((code, n) => verify({ tempToken: token, code }, n % 2 ? twin : identity)),
      );
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    });

    it('is refused as a bearer token and for the account of another session', async () => {
      const [user, other] = [await enrolled(), await registerPartner(identity)];
      const token = await tempToken(user.email);
      expect((await verify({ code: totpCode(user.secret) }, identity, token)).status).toBe(401);
      expect((await identity.get('/auth/me', { bearer: token })).status).toBe(401);
      const code = totpCode(user.secret);
      const both = expectStatus(await verify({ tempToken: token, code }, identity, other.bearer), 200);
      expect(both.body.user.id).toBe(user.userId);
      expect((await identity.get('/auth/me', other)).body.user.mfaEnabled).toBe(false);
    });

    it('confirms no setup when it is unknown', async () => {
      const partner = await registerPartner(identity);
      const { secret } = (await identity.post('/auth/mfa/setup', undefined, partner)).body as { secret: string };
      const code = totpCode(secret);
      expect(await verify({ tempToken: 'x'.repeat(32), code }, identity, partner.bearer)).toMatchObject(ended);
      expect((await verify({ tempToken: '', code }, identity, partner.bearer)).status).toBe(400);
      expect((await verify({ tempToken: null, code }, identity, partner.bearer)).status).toBe(400);
      expectStatus(await verify({ code }, identity, partner.bearer), 200);
    });
  });

  describe('guessing', () => {
    it('counts against one limit on every route that takes a code', async () => {
      const user = await enrolled();
      const wrong = { code: '000000', currentPassword: PASSWORD };
      const login = await tempToken(user.email);
      const byLogin = () => verify({ tempToken: login, code: '000000' });
      const byDisable = () => identity.post('/auth/mfa/disable', wrong, user);
      const bySetup = () => identity.post('/auth/mfa/enable', { code: '000000' }, user);
      const guesses = [byLogin, byDisable, bySetup, byLogin, byDisable];
      for (const guess of guesses) expect((await guess()).status).toBe(400);
      for (const guess of [byLogin, byDisable, bySetup]) {
        expect(await guess()).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
      }
      expect((await verify({ tempToken: login, code: totpCode(user.secret) }, twin)).status).toBe(429);
    });

    it.each([
      ['two steps behind', (secret: string) => totpCode(secret, -2)],
      ['three steps ahead', (secret: string) => totpCode(secret, 3)],
      ['with eight digits', (secret: string) => `00${totpCode(secret)}`],
      [
        'in full-width digits',
        (secret: string) => totpCode(secret).replace(/\d/g, (d) => String.fromCodePoint(0xff10 + Number(d))),
      ],
      ['with a space before', (secret: string) => ` ${totpCode(secret)}`],
      ['with a line break behind', (secret: string) => `${totpCode(secret)}\n`],
    ])(
      'gets nowhere with a code %s',
      async (_, codeOf) => {
        const user = await enrolled();
        const token = await tempToken(user.email);
        expect(await verify({ tempToken: token, code: codeOf(user.secret) })).toMatchObject(invalid);
      },
      30_000,
    );

    it('returns 400 for a code that is a number, list or object', async () => {
      const user = await enrolled();
      const token = await tempToken(user.email);
      const code = totpCode(user.secret);
      for (const odd of [Number(code), [code], { code }, null, '']) {
        expect(await verify({ tempToken: token, code: odd })).toMatchObject({
          status: 400,
          body: { code: 'validation_failed' },
        });
      }
    });

    it('refuses codes of another user', async () => {
      const [user, other] = [await enrolled(), await enrolled()];
      const token = await tempToken(user.email);
      expect(await verify({ tempToken: token, code: totpCode(other.secret) })).toMatchObject(invalid);
      expect(await verify({ tempToken: token, code: other.recoveryCodes[0] })).toMatchObject(invalid);
    });

    it('refuses a code under another method', async () => {
      const user = await enrolled();
      const token = await tempToken(user.email);
      const code = totpCode(user.secret);
      const [recovery] = user.recoveryCodes;
      expect(await verify({ tempToken: token, code, method: 'sms' })).toMatchObject({
        status: 400,
        body: { code: 'mfa_method_mismatch' },
      });
      expect((await verify({ tempToken: token, code, method: 'passkey' })).body.code).toBe('validation_failed');
      expect(await verify({ tempToken: token, code, method: 'recovery' })).toMatchObject(invalid);
      expect(await verify({ tempToken: token, code: recovery, method: 'totp' })).toMatchObject(invalid);
      expect((await verify({ tempToken: token, code: recovery?.replace('-', '') })).status).toBe(400);
    });
  });

  describe('replayed code', () => {
    it('is refused by every replica and route', async () => {
      const user = await enrolled();
      const code = totpCode(user.secret);
      const tokens = await Promise.all([1, 2, 3, 4].map(() => tempToken(user.email)));
      const responses = await Promise.all(
        tokens.map((token, n) => verify({ tempToken: token, code }, n % 2 ? twin : identity)),
      );
      expect(statuses(responses)).toEqual([200, 400, 400, 400]);
      const session = sessionOf(withStatus(responses, 200));
      const stepUp = { method: 'totp', operation: 'add_factor', code };
      expect(await twin.post('/auth/mfa/step-up', stepUp, session)).toMatchObject({
        status: 400,
        body: { code: 'mfa_proof_invalid' },
      });
      const disable = { currentPassword: PASSWORD, code };
      expect(await identity.post('/auth/mfa/disable', disable, session)).toMatchObject(invalid);
    });

    it('is refused when the setup used it', async () => {
      const partner = await registerPartner(identity);
      const { secret } = (await identity.post('/auth/mfa/setup', undefined, partner)).body as { secret: string };
      const code = totpCode(secret);
      expectStatus(await identity.post('/auth/mfa/enable', { code }, partner), 200);
      expect(await verify({ tempToken: await tempToken(partner.email), code })).toMatchObject(invalid);
    });

    it('is accepted once when two replicas receive a recovery code concurrently', async () => {
      const user = await enrolled();
      const [code] = user.recoveryCodes;
      const tokens = await Promise.all([1, 2, 3].map(() => tempToken(user.email)));
      const responses = await Promise.all(
        tokens.map((token, n) => verify({ tempToken: token, code }, n % 2 ? twin : identity)),
      );
      expect(statuses(responses)).toEqual([200, 400, 400]);
      const [{ left }] = await testApp.query<{ left: number }>(
        'select count(*)::int as left from recovery_code where user_id = $1',
        [user.userId],
      );
      expect(left).toBe(9);
    });
  });

  describe('setup', () => {
    const setUp = async (session: { bearer: string }) =>
      expectStatus(await identity.post('/auth/mfa/setup', undefined, session), 200).body.secret as string;
    const enable = (session: { bearer: string }, code: string, at = identity) =>
      at.post('/auth/mfa/enable', { code }, session);
    const notPending = { status: 400, body: { code: 'mfa_setup_not_pending' } };

    it('is refused in another session and after ten minutes', async () => {
      const partner = await registerPartner(identity);
      const other = sessionOf(await identity.post('/auth/login', { email: partner.email, password: PASSWORD }));
      const secret = await setUp(partner);
      expect(await enable(other, totpCode(secret))).toMatchObject(notPending);
      const [key] = await redis().keys(`*totp-setup:{${partner.userId}}*`);
      expect(await redis().ttl(key ?? '')).toBeLessThanOrEqual(600);
      expect(await redis().get(key ?? '')).not.toContain(secret);
      await redis().pexpire(key ?? '', 0);
      expect(await enable(partner, totpCode(secret))).toMatchObject(notPending);
    });

    it('does not replace an existing factor', async () => {
      const user = await enrolled();
      const before = await secretOf(user.userId);
      expect(before).toMatch(/^v1\./);
      expect((await identity.post('/auth/mfa/setup', undefined, user)).body.code).toBe('mfa_already_enabled');
      expect(await enable(user, totpCode(user.secret, 1))).toMatchObject(notPending);
      expect(await secretOf(user.userId)).toBe(before);
    });

    it('stores one factor when two sessions confirm concurrently', async () => {
      const partner = await registerPartner(identity);
      const other = sessionOf(await identity.post('/auth/login', { email: partner.email, password: PASSWORD }));
      const secrets = [await setUp(partner), await setUp(other)] as const;
      const responses = await Promise.all([
        enable(partner, totpCode(secrets[0])),
        enable(other, totpCode(secrets[1], -1), twin),
      ]);
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
      const winner = secrets[responses.findIndex(({ status }) => status === 200)] ?? '';
      const token = await tempToken(partner.email);
      expect((await verify({ tempToken: token, code: totpCode(winner, 1) })).status).toBe(200);
    });
  });

  it('refuses an access token that was issued before the factor was reset', async () => {
    const admin = await enrolled();
    const viewer = await roleId(identity, admin.bearer, 'Partner Viewer');
    const member = await inviteAndAccept(identity, admin.bearer, { roleId: viewer });
    const target = { ...member, ...(await enrollTotp(identity, member.bearer)) };
    expectStatus(await identity.get('/auth/me', target), 200);
    expectStatus(await identity.post(`/users/${target.userId}/mfa/reset`, {}, admin), 200);
    expect((await identity.get('/auth/me', target)).status).toBe(401);
    expect((await identity.post('/auth/mfa/recovery-codes', {}, target)).status).toBe(401);
  });

  it('does not let a user disable the factor while a policy that requires it is enabled', async () => {
    const [admin, settings] = [await enrolled(), { security: { requireMfa: true } }];
    const role = await roleId(identity, admin.bearer, 'Partner Admin');
    const member = await inviteAndAccept(identity, admin.bearer, { roleId: role });
    const user = { ...member, ...(await enrollTotp(identity, member.bearer)) };
    const body = { currentPassword: PASSWORD, code: totpCode(user.secret) };
    const [disabled, enforced] = await Promise.all([
      identity.post('/auth/mfa/disable', body, user),
      twin.patch('/orgs/partners/me', { settings }, admin),
    ]);
    expectStatus(enforced, 200);
    expect([200, 403]).toContain(disabled.status);
    // In either order, no user continues without a factor.
    const signedIn = await identity.post('/auth/login', { email: user.email, password: PASSWORD });
    if (disabled.status === 403) expect(signedIn.body.mfaRequired).toBe(true);
    else expect((await identity.get('/users', sessionOf(signedIn))).status).toBe(428);
  });
});
