import {
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
  type TestResponse,
} from '../../test/identity-test-app.js';
import { registerPasskey } from '../../test/passkeys.js';
import { claimsOf, enrollTotp, registerPartner, roleId, sessionOf } from '../../test/users.js';

const invalid = { status: 400, body: { code: 'mfa_code_invalid' } };
const ended = { status: 401, body: { code: 'mfa_session_invalid' } };

describe('PasskeyMfaService', () => {
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
    const { authenticator, id, bearer, cookies, recoveryCodes = [] } = await registerPasskey(identity, partner);
    return { ...partner, authenticator, passkeyId: id, bearer, cookies, recoveryCodes };
  };
  const login = async (email: string) =>
    expectStatus(await identity.post('/auth/login', { email, password: PASSWORD }), 200).body as { tempToken: string };
  const options = async (tempToken: string) =>
    expectStatus(await identity.post('/auth/mfa/passkey/options', { tempToken }), 200).body.options;
  const verify = (tempToken: string, credential: object, at = identity): Promise<TestResponse> =>
    at.post('/auth/mfa/passkey/verify', { tempToken, credential });

  it('completes a login', async () => {
    const user = await enrolled();
    const challenge = await login(user.email);
    expect(challenge).toMatchObject({ mfaRequired: true, mfaMethod: 'passkey', passkeyAvailable: true });
    const offered = await options(challenge.tempToken);
    const id = user.authenticator.credentials[0]?.id;
    expect(offered).toMatchObject({ allowCredentials: [{ id, type: 'public-key' }], userVerification: 'required' });
    const response = await verify(challenge.tempToken, user.authenticator.get(offered, { userHandle: null }));
    expectStatus(response, 200);
    expect(response.body).toMatchObject({ mfaRequired: false, user: { id: user.userId } });
    const claims = claimsOf(sessionOf(response).bearer);
    expect(claims.mfa).toBe(true);
    const [session] = await testApp.query('select method, factor from session_family where id = $1', [claims.sid]);
    expect(session).toEqual({ method: 'password', factor: 'passkey' });
    expect(await verify(challenge.tempToken, {})).toMatchObject(ended);
  });

  it('replaces the code of an authenticator app', async () => {
    const user = await registerPartner(identity);
    const totp = await enrollTotp(identity, user.bearer);
    const { authenticator } = await registerPasskey(identity, totp);
    const { tempToken } = await login(user.email);
    expectStatus(await verify(tempToken, authenticator.get(await options(tempToken))), 200);
  });

  it('refuses codes of other methods for an account with passkeys only, but for recovery codes', async () => {
    const user = await enrolled();
    const { tempToken } = await login(user.email);
    for (const body of [{ code: '123456' }, { code: '123456', method: 'totp' }, { code: '123456', method: 'sms' }]) {
      const response = await identity.post('/auth/mfa/verify', { tempToken, ...body });
      expect(response).toMatchObject({ status: 400, body: { code: 'mfa_method_mismatch' } });
    }
    const sms = await identity.post('/auth/mfa/sms/send', { tempToken });
    expect(sms).toMatchObject({ status: 400, body: { code: 'mfa_method_mismatch' } });
    expectStatus(await identity.post('/auth/mfa/verify', { tempToken, code: user.recoveryCodes[0] }), 200);
  });

  it('offers nothing without passkeys and without a login', async () => {
    const user = await registerPartner(identity);
    await enrollTotp(identity, user.bearer);
    const { tempToken } = await login(user.email);
    const none = await identity.post('/auth/mfa/passkey/options', { tempToken });
    expect(none).toMatchObject({ status: 400, body: { code: 'passkey_not_available' } });
    expect(await identity.post('/auth/mfa/passkey/options', { tempToken: 'x'.repeat(32) })).toMatchObject(ended);
    expect(await verify('x'.repeat(32), {})).toMatchObject(ended);
  });

  it('refuses the passkey and the challenge of another user or login', async () => {
    const [user, other] = [await enrolled(), await enrolled()];
    const [first, second] = [await login(user.email), await login(user.email)];
    const theirs = other.authenticator.get({ ...(await options(first.tempToken)), allowCredentials: undefined });
    expect(await verify(first.tempToken, theirs)).toMatchObject(invalid);
    const credential = user.authenticator.get(await options(first.tempToken));
    await options(second.tempToken);
    expect(await verify(second.tempToken, credential)).toMatchObject(invalid);
    expectStatus(await verify(first.tempToken, credential), 200);
    expect(await verify(second.tempToken, credential)).toMatchObject(invalid);
  });

  it('uses the challenge up with a wrong response and requires a new one', async () => {
    const user = await enrolled();
    const { tempToken } = await login(user.email);
    const offered = await options(tempToken);
    expect(await verify(tempToken, user.authenticator.get(offered, { userVerified: false }))).toMatchObject(invalid);
    expect(await verify(tempToken, user.authenticator.get(offered))).toMatchObject(invalid);
    expectStatus(await verify(tempToken, user.authenticator.get(await options(tempToken))), 200);
  });

  it('counts against the limit of codes, and options against their own', async () => {
    const user = await enrolled();
    const { tempToken } = await login(user.email);
    for (let n = 0; n < 5; n += 1) expect(await verify(tempToken, {})).toMatchObject(invalid);
    expect(await verify(tempToken, {})).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    for (let n = 0; n < 19; n += 1) await options(tempToken); // one was for the registration
    expect((await identity.post('/auth/mfa/passkey/options', { tempToken })).status).toBe(429);
  });

  it('creates one session when replicas receive a response concurrently', async () => {
    const user = await enrolled();
    const { tempToken } = await login(user.email);
    const credential = user.authenticator.get(await options(tempToken));
    const limited = await Promise.all(
      Array.from({ length: 20 }, (_, n) => verify(tempToken, credential, n % 2 ? twin : identity)),
    );
    expect(limited.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('ends the login of a passkey that was deleted meanwhile', async () => {
    const user = await enrolled();
    const { tempToken } = await login(user.email);
    const credential = user.authenticator.get(await options(tempToken));
    await testApp.query('delete from passkey where id = $1', [user.passkeyId]);
    expect(await verify(tempToken, credential)).toMatchObject(invalid);
  });

  it('refuses a counter that does not rise', async () => {
    const user = await enrolled();
    await testApp.query('update passkey set counter = 10 where id = $1', [user.passkeyId]);
    const { tempToken } = await login(user.email);
    expect(await verify(tempToken, user.authenticator.get(await options(tempToken), { counter: 10 }))).toMatchObject(invalid); // prettier-ignore
  });

  it('accepts an invitation to an existing account', async () => {
    const [admin, user] = [await registerPartner(identity), await enrolled()];
    const { bearer } = await enrollTotp(identity, admin.bearer);
    const invite = { email: user.email, name: 'Robin', roleId: await roleId(identity, bearer, 'Partner Viewer') };
    expectStatus(await identity.post('/users/invite', invite, { bearer }), 201);
    const token = await identity.mailedToken(user.email, 2);
    const accepted = expectStatus(await identity.post('/auth/accept-invite', { token, password: PASSWORD }), 200);
    const { tempToken } = accepted.body as { tempToken: string };
    expectStatus(await verify(tempToken, user.authenticator.get(await options(tempToken))), 200);
    const rows = await testApp.query('select 1 from partner_membership where user_id = $1', [user.userId]);
    expect(rows).toHaveLength(2);
  });

  describe('step-up', () => {
    const start = (user: { bearer: string }) => identity.post('/auth/mfa/step-up/start', { method: 'passkey' }, user);
    const stepUp = (user: { bearer: string }, credential: object, operation = 'replace_recovery_codes') =>
      identity.post('/auth/mfa/step-up', { method: 'passkey', operation, credential }, user);
    const wrong = { status: 400, body: { code: 'mfa_proof_invalid' } };

    it('grants an operation after a passkey', async () => {
      const user = await enrolled();
      await testApp.query(`update session_family set factor_proof_at = now() - interval '1 hour' where user_id = $1`, [
        user.userId,
      ]);
      const replace = (stepUpGrantId?: string) => identity.post('/auth/mfa/recovery-codes', { stepUpGrantId }, user);
      expect((await replace()).body.code).toBe('existing_factor_step_up_required');
      const started = expectStatus(await start(user), 200);
      expect(started.body).toMatchObject({ success: true, options: { rpId: 'app.test' } });
      const credential = user.authenticator.get(started.body.options);
      const granted = expectStatus(await stepUp(user, credential), 200);
      expect(await stepUp(user, credential)).toMatchObject(wrong);
      expectStatus(await replace(granted.body.stepUpGrantId), 200);
    });

    it('refuses a challenge of another session and users without passkeys', async () => {
      const [user, other] = [await enrolled(), await enrolled()];
      const { body } = expectStatus(await start(user), 200);
      const credential = user.authenticator.get(body.options);
      expect(await stepUp(other, credential)).toMatchObject(wrong);
      await start(other);
      expect(await stepUp(other, credential)).toMatchObject(wrong);
      expect((await stepUp(user, {})).body.code).toBe('mfa_proof_invalid');
      const missing = await identity.post('/auth/mfa/step-up', { method: 'passkey', operation: 'add_factor' }, user);
      expect(missing).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      const partner = await registerPartner(identity);
      expect((await start(partner)).body.code).toBe('mfa_not_enabled');
      const totp = await enrollTotp(identity, partner.bearer);
      expect((await start(totp)).body.code).toBe('passkey_not_available');
    });
  });
});
