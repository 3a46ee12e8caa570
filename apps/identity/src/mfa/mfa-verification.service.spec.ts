import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  freshAddress,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type TestResponse,
  type IdentityReplica,
  withStatus,
} from '../../test/identity-test-app.js';
import { claimsOf, registerProtectedPartner, sessionOf } from '../../test/users.js';
import { MfaCodesService } from './mfa-codes.service.js';

describe('MfaVerificationService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
  }, 120_000);
  afterAll(() => testApp.stop());

  const login = (email: string) => identity.post('/auth/login', { email, password: PASSWORD });
  const verify = (tempToken: string, code: string) => identity.post('/auth/mfa/verify', { tempToken, code });
  const mfaClaim = (response: TestResponse) => claimsOf(sessionOf(response).bearer).mfa;
  const enrolled = () => registerProtectedPartner(identity);

  it('is required at login, and no cookie is set before it is verified', async () => {
    const user = await enrolled();
    const challenge = await login(user.email);
    expect(challenge.status).toBe(200);
    expect(challenge.body).toEqual({
      mfaRequired: true,
      tempToken: expect.stringMatching(/^[A-Za-z0-9]{32}$/),
      mfaMethod: 'totp',
      passkeyAvailable: false,
      phoneLast4: null,
      user: null,
      tokens: null,
    });
    expect(challenge.headers['set-cookie']).toBeUndefined();
    const { tempToken } = challenge.body as { tempToken: string };
    expect((await identity.get('/users/me', { bearer: tempToken })).status).toBe(401);

    const session = expectStatus(await verify(tempToken, totpCode(user.secret)), 200);
    expect(session.body).toMatchObject({ mfaRequired: false, user: { email: user.email, mfaEnabled: true } });
    expect(mfaClaim(session)).toBe(true);
    const replay = await verify(tempToken, totpCode(user.secret, 1));
    expect(replay).toMatchObject({ status: 401, body: { code: 'mfa_session_invalid' } });
  });

  it('accepts a code once for concurrent requests', async () => {
    const user = await enrolled();
    const tokens = await Promise.all([1, 2, 3, 4].map(async () => (await login(user.email)).body.tempToken as string));
    const responses = await Promise.all(tokens.map((token) => verify(token, totpCode(user.secret))));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
  });

  it('counts attempts per user and not per temporary token', async () => {
    const user = await enrolled();
    const statuses: number[] = [];
    for (let n = 0; n < 6; n += 1) {
      const { tempToken } = (await login(user.email)).body as { tempToken: string };
      statuses.push((await verify(tempToken, '000000')).status);
    }
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429]);
  });

  it('accepts each recovery code once, also for concurrent requests', async () => {
    const user = await enrolled();
    const [code = ''] = user.recoveryCodes;
    const tokens = await Promise.all([1, 2].map(async () => (await login(user.email)).body.tempToken as string));
    const responses = await Promise.all(tokens.map((token) => verify(token, code.toLowerCase())));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400]);
    const winner = withStatus(responses, 200);
    const me = await identity.get('/auth/me', { bearer: sessionOf(winner).bearer });
    expect(me.body.user.recoveryCodesLeft).toBe(9);
  });

  it('keeps the temporary token when its recovery code was used by another login meanwhile', async () => {
    const user = await enrolled();
    const [first, second] = await Promise.all([login(user.email), login(user.email)]);
    const [code = '', other = ''] = user.recoveryCodes;
    expectStatus(await verify(first.body.tempToken as string, code), 200);
    const check = jest
      .spyOn(identity.app.get(MfaCodesService, { strict: false }), 'verifyRecoveryCode')
      .mockResolvedValueOnce(true);
    const { tempToken } = second.body as { tempToken: string };
    expect(await verify(tempToken, code)).toMatchObject({ status: 400, body: { code: 'mfa_code_invalid' } });
    check.mockRestore();
    expectStatus(await verify(tempToken, other), 200);
    expect((await verify(tempToken, other)).status).toBe(401);
  });

  it('accepts a recovery code once for twenty concurrent logins', async () => {
    const relaxed = await testApp.startReplica({ RATE_LIMIT_MFA_VERIFY: '100/300' });
    const user = await enrolled();
    const logins = Array.from({ length: 20 }, () =>
      relaxed.post('/auth/login', { email: user.email, password: PASSWORD }),
    );
    const tokens = (await Promise.all(logins)).flatMap(({ body }) => (body.tempToken as string | undefined) ?? []);
    expect(tokens.length).toBeGreaterThan(1); // those that the lock-out admitted at once
    const [code = ''] = user.recoveryCodes;
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        relaxed.post('/auth/mfa/verify', { tempToken: tokens[n % tokens.length], code }),
      ),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    const me = await identity.get('/auth/me', { bearer: sessionOf(withStatus(responses, 200)).bearer });
    expect(me.body.user.recoveryCodesLeft).toBe(9);
  });

  it('audits temporary tokens that are unknown or used, and attempts over the limit', async () => {
    const user = await enrolled();
    const { tempToken } = (await login(user.email)).body as { tempToken: string };
    for (let n = 0; n < 6; n += 1) await verify(tempToken, '000000');
    const from = freshAddress();
    await identity.post('/auth/mfa/verify', { tempToken: 'A'.repeat(32), code: '000000' }, { from });
    /** In any order: entries are sealed in the order in which they arrive. */
    const reasonsOf = async (where: string, value: string) =>
      (
        await testApp.query<{ reason: string }>(
          `select details ->> 'reason' as reason from audit_entry
           where action = 'user.login.failed' and ${where} = $1 order by reason`,
          [value],
        )
      ).map(({ reason }) => reason);
    await eventually(async () => {
      expect(await reasonsOf('actor_id', user.userId)).toEqual([...Array<string>(5).fill('mfa_code'), 'rate_limited']);
      expect(await reasonsOf('ip_address', from)).toEqual(['mfa_session_invalid']);
    });
  });
});
