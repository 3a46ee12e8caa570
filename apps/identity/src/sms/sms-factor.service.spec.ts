import { RedisConnections } from '@rmm/service-kit';
import {
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { enableSms, freshNumber, sentCode, verifyPhone } from '../../test/sms.js';
import { claimsOf, enrollTotp, registerPartner, sessionOf } from '../../test/users.js';

const invalid = { status: 400, body: { code: 'mfa_code_invalid' } };

describe('SmsFactorService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let twin: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    [identity, twin] = await Promise.all([testApp.startReplica(), testApp.startReplica()]);
  }, 120_000);
  afterAll(() => testApp.stop());

  const enrolled = async () => {
    const partner = await registerPartner(identity);
    return { ...partner, ...(await enableSms(identity, partner)) };
  };
  const login = async (email: string) =>
    expectStatus(await identity.post('/auth/login', { email, password: PASSWORD }), 200).body;
  const send = (tempToken: string) => identity.post('/auth/mfa/sms/send', { tempToken });
  const verify = (tempToken: string, code: string, at = identity, method?: string) =>
    at.post('/auth/mfa/verify', { tempToken, code, method });
  const accountOf = async (userId: string) => {
    const [row] = await testApp.query(
      `select mfa_enabled as enabled, mfa_method as method, phone_number as phone, phone_verified as verified
       from user_account where id = $1`,
      [userId],
    );
    return row;
  };

  describe('enrollment', () => {
    it('needs a confirmed number, and enables MFA with recovery codes', async () => {
      const user = await registerPartner(identity);
      const early = await identity.post('/auth/mfa/sms/enable', {}, user);
      expect(early).toMatchObject({ status: 400, body: { code: 'phone_not_verified' } });
      const phoneNumber = freshNumber();
      expectStatus(await identity.post('/auth/phone/verify', { phoneNumber }, user), 200);
      expect((await identity.post('/auth/mfa/sms/enable', {}, user)).body.code).toBe('phone_not_verified');
      const code = await sentCode(identity, phoneNumber);
      expectStatus(await identity.post('/auth/phone/confirm', { phoneNumber, code }, user), 200);
      const enabled = expectStatus(await identity.post('/auth/mfa/sms/enable', {}, user), 200);
      expect(enabled.body.recoveryCodes).toHaveLength(10);
      expect(await accountOf(user.userId)).toEqual({
        enabled: true,
        method: 'sms',
        phone: phoneNumber,
        verified: true,
      });
      const { body } = expectStatus(await identity.get('/auth/me', sessionOf(enabled)), 200);
      expect(body.user).toMatchObject({ mfaMethod: 'sms', phoneVerified: true, phoneLast4: phoneNumber.slice(-4) });
      const again = await identity.post('/auth/mfa/sms/enable', {}, sessionOf(enabled));
      expect(again).toMatchObject({ status: 400, body: { code: 'mfa_already_enabled' } });
    });

    it('is refused where partner or organization exclude SMS', async () => {
      const user = await registerPartner(identity);
      await verifyPhone(identity, user);
      await testApp.query(
        `update partner set settings = '{"security": {"allowedMfaMethods": {"sms": false}}}' where id = $1`,
        [user.partnerId],
      );
      const refused = await identity.post('/auth/mfa/sms/enable', {}, user);
      expect(refused).toMatchObject({ status: 403, body: { code: 'mfa_method_not_allowed' } });
    });

    it('leaves an authenticator app usable at login', async () => {
      const user = await registerPartner(identity);
      const totp = await enrollTotp(identity, user.bearer);
      await enableSms(identity, totp);
      const { tempToken, mfaMethod } = await login(user.email);
      expect(mfaMethod).toBe('sms');
      expectStatus(await verify(tempToken, totpCode(totp.secret), identity, 'totp'), 200);
    });

    it('responds with 501 without a provider, on every route that needs one', async () => {
      const user = await enrolled();
      const bare = await testApp.startReplica({ MAILBOX_DIR: '' });
      const { tempToken } = await login(user.email);
      const calls = [
        bare.post('/auth/phone/verify', { phoneNumber: freshNumber() }, user),
        bare.post('/auth/phone/confirm', { phoneNumber: freshNumber(), code: '123456' }, user),
        bare.post('/auth/mfa/sms/enable', {}, user),
        bare.post('/auth/mfa/sms/send', { tempToken }),
        bare.post('/auth/mfa/step-up/start', { method: 'sms' }, user),
      ];
      for (const response of await Promise.all(calls)) {
        expect(response).toMatchObject({ status: 501, body: { code: 'sms_not_configured' } });
      }
    });
  });

  describe('login', () => {
    it('is completed by the code that was sent for it, once', async () => {
      const user = await enrolled();
      const challenge = await login(user.email);
      expect(challenge).toMatchObject({ mfaMethod: 'sms', phoneLast4: user.phoneNumber.slice(-4) });
      expectStatus(await send(challenge.tempToken), 200);
      const code = await sentCode(identity, user.phoneNumber, 2);
      const session = expectStatus(await verify(challenge.tempToken, code), 200);
      const claims = claimsOf(sessionOf(session).bearer);
      expect(claims.mfa).toBe(true);
      const next = (await login(user.email)).tempToken as string;
      expect(await verify(next, code)).toMatchObject(invalid);
    });

    it('accepts a code for its login only', async () => {
      const user = await enrolled();
      const [first, second] = [await login(user.email), await login(user.email)];
      expectStatus(await send(first.tempToken), 200);
      const code = await sentCode(identity, user.phoneNumber, 2);
      expect(await verify(second.tempToken, code)).toMatchObject(invalid);
      expectStatus(await send(second.tempToken), 200);
      await sentCode(identity, user.phoneNumber, 3);
      expect(await verify(second.tempToken, code)).toMatchObject(invalid);
      expectStatus(await verify(first.tempToken, code), 200);
    });

    it('accepts a code once when replicas receive it concurrently', async () => {
      const unlimited = await testApp.startReplica({ RATE_LIMIT_MFA_VERIFY: '100/300' });
      const user = await enrolled();
      const { tempToken } = await login(user.email);
      expectStatus(await send(tempToken), 200);
      const code = await sentCode(identity, user.phoneNumber, 2);
      const responses = await Promise.all(Array.from({ length: 20 }, () => verify(tempToken, code, unlimited)));
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    });

    it('refuses a code after five tries, also after five concurrent ones', async () => {
      const unlimited = await testApp.startReplica({ RATE_LIMIT_MFA_VERIFY: '100/300' });
      const user = await enrolled();
      const { tempToken } = await login(user.email);
      expectStatus(await send(tempToken), 200);
      const code = await sentCode(identity, user.phoneNumber, 2);
      const wrong = code === '000000' ? '000001' : '000000';
      await Promise.all(Array.from({ length: 5 }, () => verify(tempToken, wrong, unlimited)));
      expect(await verify(tempToken, code, unlimited)).toMatchObject(invalid);
    });

    it('limits guesses over all logins of a user', async () => {
      const user = await enrolled();
      for (let n = 0; n < 5; n += 1) {
        expect((await verify((await login(user.email)).tempToken, '000000', n % 2 ? twin : identity)).status).toBe(400);
      }
      expect((await verify((await login(user.email)).tempToken, '000000')).status).toBe(429);
    });

    it('sends three codes to a login and five to a number in all', async () => {
      const user = await enrolled();
      const { tempToken } = await login(user.email);
      const statuses = [];
      for (let n = 0; n < 4; n += 1) statuses.push((await send(tempToken)).status);
      expect(statuses).toEqual([200, 200, 200, 429]);
      const other = (await login(user.email)).tempToken as string;
      expect([(await send(other)).status, (await send(other)).status, (await send(other)).status]).toEqual([
        200, 200, 429,
      ]);
    });

    it('stores no code and no number in Redis', async () => {
      const user = await enrolled();
      const { tempToken } = await login(user.email);
      expectStatus(await send(tempToken), 200);
      const code = await sentCode(identity, user.phoneNumber, 2);
      const redis = identity.app.get(RedisConnections, { strict: false }).shared;
      const keys = await redis.keys('rmm:identity:sms-code:*');
      expect(keys.length).toBeGreaterThan(0);
      for (const key of keys) {
        const stored = JSON.stringify([key, await redis.hgetall(key)]);
        expect(stored).not.toContain(code);
        expect(stored).not.toContain(user.phoneNumber.slice(1));
        expect(stored).not.toContain(tempToken);
        expect(await redis.ttl(key)).toBeLessThanOrEqual(300);
      }
    });
  });

  describe('step-up', () => {
    const start = (user: { bearer: string }) => identity.post('/auth/mfa/step-up/start', { method: 'sms' }, user);
    const stepUp = (user: { bearer: string }, code: string) =>
      identity.post('/auth/mfa/step-up', { method: 'sms', operation: 'add_factor', code }, user);

    it('grants an operation after a code to the active factor', async () => {
      const user = await enrolled();
      expectStatus(await start(user), 200);
      const code = await sentCode(identity, user.phoneNumber, 2);
      expect((await stepUp(user, code)).body).toMatchObject({ expiresInSeconds: 300 });
      expect(await stepUp(user, code)).toMatchObject({ status: 400, body: { code: 'mfa_proof_invalid' } });
    });

    it('is refused while SMS is not the active factor, although the number is verified', async () => {
      const user = await registerPartner(identity);
      const totp = await enrollTotp(identity, user.bearer);
      await verifyPhone(identity, totp);
      const mismatch = { status: 400, body: { code: 'mfa_method_mismatch' } };
      expect(await start(totp)).toMatchObject(mismatch);
      expect(await stepUp(totp, '123456')).toMatchObject(mismatch);
    });

    it('refuses a code that was sent to the number before', async () => {
      const user = await enrolled();
      expectStatus(await start(user), 200);
      const code = await sentCode(identity, user.phoneNumber, 2);
      await testApp.query('update user_account set phone_number = $2 where id = $1', [user.userId, freshNumber()]);
      expect(await stepUp(user, code)).toMatchObject({ status: 400, body: { code: 'mfa_proof_invalid' } });
    });
  });

  it('disables MFA with a code of a step-up, and removes the number', async () => {
    const user = await enrolled();
    expectStatus(await identity.post('/auth/mfa/step-up/start', { method: 'sms' }, user), 200);
    const code = await sentCode(identity, user.phoneNumber, 2);
    const disable = { currentPassword: PASSWORD, code };
    expectStatus(
      await identity.post('/auth/mfa/disable', disable, { bearer: user.bearer, cookies: user.cookies }),
      200,
    );
    expect(await accountOf(user.userId)).toEqual({ enabled: false, method: null, phone: null, verified: false });
  });
});
