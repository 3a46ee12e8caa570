import { eventually } from '@rmm/testing-services';
import {
  cookiesOf,
  expectStatus,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type TestResponse,
  type CallOptions,
  type IdentityReplica,
  withStatus,
} from '../../test/identity-test-app.js';
import { claimsOf, registerPartner, registerProtectedPartner, sessionOf } from '../../test/users.js';

const mfaClaim = (response: TestResponse) => claimsOf(sessionOf(response).bearer).mfa;

describe('MfaFactorsService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let twin: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    [identity, twin] = await Promise.all([testApp.startReplica(), testApp.startReplica()]);
  }, 120_000);
  afterAll(() => testApp.stop());

  const login = (email: string) => identity.post('/auth/login', { email, password: PASSWORD });
  const enrolled = () => registerProtectedPartner(identity);
  const disable = (body: object, options: CallOptions, at = identity) => at.post('/auth/mfa/disable', body, options);
  const setPolicy = (partnerId: string, security: object | string) =>
    testApp.query('update partner set settings = $2 where id = $1', [partnerId, JSON.stringify({ security })]);
  const auditOf = (userId: string, action: string) =>
    eventually(async () => {
      const rows = await testApp.query<{ result: string; details: Record<string, unknown> }>(
        'select result, details from audit_entry where resource_id = $1 and action = $2 order by sequence',
        [userId, action],
      );
      if (rows.length === 0) throw new Error(`no ${action}`);
      return rows;
    });

  describe('disable', () => {
    it('deletes all factors, ends every other session and reissues the current one', async () => {
      const user = await enrolled();
      const { body } = await login(user.email);
      const other = expectStatus(
        await identity.post('/auth/mfa/verify', { tempToken: body.tempToken, code: totpCode(user.secret, 0) }),
        200,
      );
      const code = totpCode(user.secret, 1);
      const done = expectStatus(await disable({ currentPassword: PASSWORD, code }, user), 200);
      expect(done.body).toMatchObject({ success: true, message: expect.any(String), csrfToken: expect.any(String) });
      expect(done.body.refreshToken).toBeUndefined();
      expect(done.headers['cache-control']).toBe('no-store');
      expect(mfaClaim(done)).toBe(false);
      const kept = await testApp.query('select mfa from session_family where user_id = $1 and revoked_at is null', [
        user.userId,
      ]);
      expect(kept).toEqual([{ mfa: false }]);
      expect(cookiesOf(done).service_refresh_token).toMatch(/^[\w-]{43}$/);
      for (const dead of [user.bearer, sessionOf(other).bearer]) {
        expect((await identity.get('/auth/me', { bearer: dead })).status).toBe(401);
      }
      const me = await identity.get('/auth/me', { bearer: sessionOf(done).bearer });
      expect(me.body.user).toMatchObject({ mfaEnabled: false, mfaMethod: null, recoveryCodesLeft: 0 });
      const left = await testApp.query(
        `select 1 from totp_factor where user_id = $1 union all select 1 from recovery_code where user_id = $1`,
        [user.userId],
      );
      expect(left).toEqual([]);
      expect(await auditOf(user.userId, 'auth.mfa.disable')).toEqual([
        { result: 'success', details: { method: 'totp', proof: 'totp' } },
      ]);
      await eventually(async () => {
        const [mail] = await identity.mails(user.email);
        if (mail?.subject !== 'Two-step sign-in is off') throw new Error('no mail yet');
      });
      const again = await disable({ currentPassword: PASSWORD, code }, sessionOf(done));
      expect(again).toMatchObject({ status: 400, body: { code: 'mfa_not_enabled' } });
      expect(expectStatus(await login(user.email), 200).body.mfaRequired).toBe(false);
    });

    it('returns the token to clients that send theirs in the body and accepts a recovery code', async () => {
      const user = await enrolled();
      const refreshToken = user.cookies.service_refresh_token;
      const [code] = user.recoveryCodes;
      const done = await disable({ currentPassword: PASSWORD, code, refreshToken }, { bearer: user.bearer });
      expect(expectStatus(done, 200).body.refreshToken).toMatch(/^[\w-]{43}$/);
      expect(done.headers['set-cookie']).toBeUndefined();
      const refreshed = await identity.post('/auth/refresh', { refreshToken: done.body.refreshToken });
      expect(refreshed.status).toBe(200);
      expect((await identity.post('/auth/refresh', { refreshToken })).body.code).toBe('refresh_invalid');
    });

    it('requires a refresh token of the current session', async () => {
      const user = await enrolled();
      const stranger = await registerPartner(identity);
      const body = { currentPassword: PASSWORD, code: totpCode(user.secret) };
      const refused = { status: 428, body: { code: 'replacement_session_required' } };
      const { bearer } = user;
      expect(await disable(body, { bearer })).toMatchObject(refused);
      expect(await disable(body, { bearer, cookies: stranger.cookies })).toMatchObject(refused);
      for (const refreshToken of [stranger.cookies.service_refresh_token, 'x'.repeat(43), bearer.slice(0, 4000)]) {
        expect(await disable({ ...body, refreshToken }, { bearer })).toMatchObject(refused);
        // The body's token is the one that counts, whatever the cookie.
        expect(await disable({ ...body, refreshToken }, user)).toMatchObject(refused);
      }
      const headers = { 'x-service-csrf': user.cookies.service_csrf_token ?? '' };
      expectStatus(await identity.post('/auth/refresh', {}, { cookies: user.cookies, headers }), 200);
      expect(await disable(body, user)).toMatchObject(refused);
    });

    it('requires password and code and records which was wrong', async () => {
      const user = await enrolled();
      const code = totpCode(user.secret);
      expect(await disable({ code }, user)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      expect(await disable({ currentPassword: PASSWORD }, user)).toMatchObject({ status: 400 });
      const extra = await disable({ currentPassword: PASSWORD, code, userId: user.userId }, user);
      expect(extra).toMatchObject({ status: 400, body: { details: { fieldErrors: { userId: ['unknown field'] } } } });
      const wrongPassword = await disable({ currentPassword: 'wrong-horse-1', code }, user);
      expect(wrongPassword).toMatchObject({ status: 400, body: { code: 'invalid_credentials' } });
      const wrongCode = await disable({ currentPassword: PASSWORD, code: 'AAAA-AAAA' }, user);
      expect(wrongCode).toMatchObject({ status: 400, body: { code: 'mfa_code_invalid' } });
      expect((await disable({ currentPassword: PASSWORD, code }, {})).status).toBe(401);
      const rows = await eventually(async () => {
        const found = await auditOf(user.userId, 'auth.mfa.disable.failed');
        if (found.length < 2) throw new Error('not yet');
        return found;
      });
      expect(rows.map(({ details }) => details.reason).sort()).toEqual(['wrong_code', 'wrong_password']);
      expectStatus(await disable({ currentPassword: PASSWORD, code }, user), 200);
    });

    it.each([[{ requireMfa: true }], [{ requireMfa: 'perhaps' }], ['garbled']])(
      'is refused under the policy %j',
      async (security) => {
        const user = await enrolled();
        await setPolicy(user.partnerId, security);
        const body = { currentPassword: PASSWORD, code: totpCode(user.secret) };
        const refused = await disable(body, user);
        expect(refused).toMatchObject({ status: 403, body: { code: 'mfa_required_by_policy' } });
        expect(await auditOf(user.userId, 'auth.mfa.disable.failed')).toEqual([
          { result: 'denied', details: { reason: 'policy' } },
        ]);
      },
      30_000,
    );

    it('asks the policy of the entered membership alone', async () => {
      const user = await enrolled();
      const other = await registerPartner(identity);
      await testApp.query(
        `insert into partner_membership (partner_id, user_id, role_id)
         select partner_id, $2, role_id from partner_membership where user_id = $1`,
        [other.userId, user.userId],
      );
      await setPolicy(other.partnerId, { requireMfa: true });
      const body = { currentPassword: PASSWORD, code: totpCode(user.secret) };
      const there = { partnerId: other.partnerId };
      const entered = sessionOf(expectStatus(await identity.post('/auth/switch', there, user), 200));
      const refused = await disable(body, entered);
      expect(refused).toMatchObject({ status: 403, body: { code: 'mfa_required_by_policy' } });
      const own = sessionOf(
        expectStatus(await identity.post('/auth/switch', { partnerId: user.partnerId }, entered), 200),
      );
      const disabled = sessionOf(expectStatus(await disable(body, own), 200));
      // The other tenant meets the user with its enrollment gate.
      const back = sessionOf(expectStatus(await identity.post('/auth/switch', there, disabled), 200));
      expect((await identity.get('/users', back)).body.code).toBe('mfa_enrollment_required');
    });

    it('succeeds once when several replicas receive it concurrently', async () => {
      const user = await enrolled();
      const codes = [totpCode(user.secret), totpCode(user.secret), ...user.recoveryCodes.slice(0, 2)];
      const responses = await Promise.all(
        codes.map((code, n) => disable({ currentPassword: PASSWORD, code }, user, n % 2 ? twin : identity)),
      );
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
      const { bearer } = sessionOf(withStatus(responses, 200));
      expect((await identity.get('/auth/me', { bearer })).body.user.mfaEnabled).toBe(false);
      const [{ alive }] = await testApp.query<{ alive: number }>(
        'select count(*)::int as alive from session_family where user_id = $1 and revoked_at is null',
        [user.userId],
      );
      expect(alive).toBe(1);
    });
  });

  describe('replace recovery codes', () => {
    it('requires a session that satisfied MFA', async () => {
      const partner = await registerPartner(identity);
      const refused = await identity.post('/auth/mfa/recovery-codes', {}, { bearer: partner.bearer });
      expect(refused).toMatchObject({ status: 403, body: { code: 'mfa_required' } });
      expect((await identity.post('/auth/mfa/recovery-codes', {})).status).toBe(401);
      const user = await enrolled();
      const unknown = await identity.post('/auth/mfa/recovery-codes', { count: 50 }, { bearer: user.bearer });
      expect(unknown).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    });

    it('invalidates all old codes and reissues the session', async () => {
      const user = await enrolled();
      const done = expectStatus(await identity.post('/auth/mfa/recovery-codes', undefined, user), 200);
      expect(done.body.recoveryCodes).toHaveLength(10);
      expect(done.headers['cache-control']).toBe('no-store');
      expect(mfaClaim(done)).toBe(true);
      expect((await identity.get('/auth/me', { bearer: user.bearer })).status).toBe(401);
      const { tempToken } = (await login(user.email)).body;
      const old = await identity.post('/auth/mfa/verify', { tempToken, code: user.recoveryCodes[0] });
      expect(old).toMatchObject({ status: 400, body: { code: 'mfa_code_invalid' } });
      const fresh = await identity.post('/auth/mfa/verify', { tempToken, code: done.body.recoveryCodes[0] });
      expect(fresh.status).toBe(200);
      expect(await auditOf(user.userId, 'auth.mfa.recovery_codes.rotate')).toHaveLength(1);
    });

    it('succeeds for one of two concurrent calls, whose codes are valid', async () => {
      const user = await enrolled();
      const responses = await Promise.all(
        [identity, twin, identity, twin].map((at) => at.post('/auth/mfa/recovery-codes', {}, user)),
      );
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
      const { tempToken } = (await login(user.email)).body;
      const [code] = withStatus(responses, 200).body.recoveryCodes as string[];
      expect((await identity.post('/auth/mfa/verify', { tempToken, code })).status).toBe(200);
    });

    it('requires a recent proof or a step-up grant, which it uses up, and informs the user by mail', async () => {
      const user = await enrolled();
      await testApp.query(
        `update session_family set password_proof_at = now(), factor_proof_at = now() - interval '10 minutes'
         where user_id = $1`,
        [user.userId],
      );
      const replace = (stepUpGrantId?: string, options: CallOptions = user) =>
        identity.post('/auth/mfa/recovery-codes', { stepUpGrantId }, options);
      const refused = { status: 403, body: { code: 'existing_factor_step_up_required' } };
      expect(await replace()).toMatchObject(refused);
      const grantFor = async (operation: string, steps: number) => {
        const body = { method: 'totp', operation, code: totpCode(user.secret, steps) };
        return expectStatus(await identity.post('/auth/mfa/step-up', body, user), 200).body.stepUpGrantId as string;
      };
      expect(await replace(await grantFor('add_factor', 0))).toMatchObject(refused);
      const grant = await grantFor('replace_recovery_codes', 1);
      const done = expectStatus(await replace(grant), 200);
      expect(await replace(grant, sessionOf(done))).toMatchObject(refused); // no new proof: the session is as old as before
      await eventually(async () => {
        const mails = await identity.mails(user.email);
        expect(mails.filter(({ subject }) => subject === 'Your recovery codes were replaced')).toHaveLength(1);
      });
    });

    it('refuses a session that ended after the request was authenticated', async () => {
      const user = await enrolled();
      await identity.get('/auth/me', { bearer: user.bearer });
      await testApp.query('update session_family set revoked_at = now() where user_id = $1', [user.userId]);
      const late = await identity.post('/auth/mfa/recovery-codes', {}, user);
      expect(late).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
      const { tempToken } = (await login(user.email)).body;
      const code = user.recoveryCodes[0];
      expect((await identity.post('/auth/mfa/verify', { tempToken, code })).status).toBe(200);
    });

    it('ends pending logins', async () => {
      const user = await enrolled();
      const { tempToken } = (await login(user.email)).body;
      expectStatus(await identity.post('/auth/mfa/recovery-codes', {}, user), 200);
      const late = await identity.post('/auth/mfa/verify', { tempToken, code: totpCode(user.secret, 1) });
      expect(late).toMatchObject({ status: 401, body: { code: 'mfa_session_invalid' } });
    });
  });

  it('refuses methods that a policy excludes', async () => {
    const partner = await registerPartner(identity);
    const setup = () => identity.post('/auth/mfa/setup', undefined, partner);
    const { secret } = expectStatus(await setup(), 200).body as { secret: string };
    await setPolicy(partner.partnerId, { allowedMfaMethods: { totp: false } });
    const refused = { status: 403, body: { code: 'mfa_method_not_allowed' } };
    expect(await setup()).toMatchObject(refused);
    expect(await identity.post('/auth/mfa/enable', { code: totpCode(secret) }, partner)).toMatchObject(refused);
    await setPolicy(partner.partnerId, { allowedMfaMethods: { sms: false } });
    expectStatus(await identity.post('/auth/mfa/enable', { code: totpCode(secret) }, partner), 200);
  });

  it('returns 404 while MFA is disabled', async () => {
    const off = await testApp.startReplica({ ENABLE_2FA: 'false' });
    const { bearer } = await registerPartner(off);
    const code = '123456';
    const calls: [string, object][] = [
      ['setup', {}],
      ['verify', { code }],
      ['enable', { code }],
      ['disable', { code, currentPassword: PASSWORD }],
      ['recovery-codes', {}],
      ['step-up', { method: 'totp', operation: 'add_factor', code }],
      ['step-up/start', { method: 'sms' }],
      ['sms/enable', {}],
      ['sms/send', { tempToken: 'x' }],
      ['passkey/options', { tempToken: 'x' }],
      ['passkey/verify', { tempToken: 'x', credential: {} }],
    ];
    for (const [route, body] of calls) {
      for (const options of [{ bearer }, {}]) {
        const response = await off.post(`/auth/mfa/${route}`, body, options);
        expect({ route, status: response.status, code: response.body.code }).toEqual({
          route,
          status: 404,
          code: 'not_found',
        });
      }
    }
    expect((await off.post('/auth/login', { email: freshEmail(), password: PASSWORD })).status).toBe(401);
  });

  it('forgets the claim of sessions created while MFA was disabled once it is enabled', async () => {
    const off = await testApp.startReplica({ ENABLE_2FA: 'false' });
    const { email, partnerId } = await registerPartner(off);
    const signedIn = expectStatus(await off.post('/auth/login', { email, password: PASSWORD }), 200);
    expect(mfaClaim(signedIn)).toBe(true);
    const { bearer } = sessionOf(signedIn);
    const switched = expectStatus(await off.post('/auth/switch', { partnerId }, { bearer }), 200);
    expect(mfaClaim(switched)).toBe(true);
    const { cookies } = sessionOf(switched);
    const headers = { 'x-service-csrf': cookies.service_csrf_token ?? '' };
    expect(mfaClaim(expectStatus(await identity.post('/auth/refresh', undefined, { cookies, headers }), 200))).toBe(
      false,
    );
  });
});
