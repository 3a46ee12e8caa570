import { eventually } from '@rmm/testing-services';
import { IdentityTestApp, expectStatus, type IdentityReplica } from '../../test/identity-test-app.js';
import { newAuthenticator, registerPasskey, signIn, signInOptions } from '../../test/passkeys.js';
import { claimsOf, registerPartner, sessionOf, signInAdmin } from '../../test/users.js';

const refused = { status: 401, body: { code: 'login_failed', error: 'The passkey was not accepted' } };

describe('PasskeyLoginService', () => {
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
    const { authenticator, id, ...session } = await registerPasskey(identity, partner);
    return { ...partner, ...session, authenticator, passkeyId: id };
  };
  /** Audit entries arrive by message. */
  const expectReason = (userId: string | null, reason: string) =>
    eventually(async () => {
      const [row] = await testApp.query<{ details: object }>(
        `select details from audit_entry where action = 'user.login.failed' and actor_id is not distinct from $1
         order by sequence desc limit 1`,
        [userId],
      );
      expect(row?.details).toEqual({ reason, method: 'passkey' });
    });
  const stored = async (passkeyId: string) => {
    const [row] = await testApp.query('select counter::int, backed_up as "backedUp", last_used_at as "lastUsedAt" from passkey where id = $1', [passkeyId]); // prettier-ignore
    return row as { counter: number; backedUp: boolean; lastUsedAt: Date | null };
  };

  it('signs in without address and password, with a verified factor', async () => {
    const user = await enrolled();
    const options = await signInOptions(identity);
    expect(options).toMatchObject({ rpId: 'app.test', userVerification: 'required', timeout: 300_000 });
    expect(options.allowCredentials).toBeUndefined();
    const response = expectStatus(await signIn(identity, user.authenticator.get(options)), 200);
    expect(response.body).toMatchObject({ mfaRequired: false, user: { id: user.userId, mfaEnabled: true } });
    expect(response.headers['cache-control']).toBe('no-store');
    expect(claimsOf(sessionOf(response).bearer)).toMatchObject({ sub: user.userId, mfa: true, scope: 'partner' });
    const [session] = await testApp.query(
      'select method, mfa, factor, factor_proof_at is not null as proven, password_proof_at as password from session_family where id = $1',
      [claimsOf(sessionOf(response).bearer).sid],
    );
    expect(session).toEqual({ method: 'passkey', mfa: true, factor: 'passkey', proven: true, password: null });
    expect((await stored(user.passkeyId)).lastUsedAt).not.toBeNull();
    expectStatus(await identity.get('/users/me', sessionOf(response)), 200);
  });

  it.each(['ES256', 'RS256', 'EdDSA'] as const)(
    'accepts %s keys with and without a signature counter',
    async (algorithm) => {
      const partner = await registerPartner(identity);
      const { authenticator, id } = await registerPasskey(identity, partner, newAuthenticator(), {
        algorithm,
        attestation: 'packed',
      });
      for (const counter of [0, 0, 7, 8]) {
        const credential = authenticator.get(await signInOptions(identity), { counter });
        expectStatus(await signIn(identity, credential), 200);
        expect((await stored(id)).counter).toBe(counter);
      }
    },
    60_000,
  );

  it('enters the named membership', async () => {
    const user = await enrolled();
    const [credential, other] = [
      user.authenticator.get(await signInOptions(identity)),
      user.authenticator.get(await signInOptions(identity)),
    ];
    const entered = expectStatus(await signIn(identity, credential, { partnerId: user.partnerId }), 200);
    expect(claimsOf(sessionOf(entered).bearer)).toMatchObject({ partnerId: user.partnerId });
    expect(await signIn(identity, other, { orgId: '7d9f2c1e-0000-4000-8000-000000000000' })).toMatchObject(refused);
    await expectReason(user.userId, 'tenant_not_active');
    const both = { orgId: user.partnerId, partnerId: user.partnerId };
    expect(await signIn(identity, other, both)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  });

  it('refuses a counter that does not rise, of any response but the first', async () => {
    const user = await enrolled();
    const attempt = async (counter: number) => signIn(identity, user.authenticator.get(await signInOptions(identity), { counter })); // prettier-ignore
    expectStatus(await attempt(5), 200);
    for (const counter of [5, 4, 0]) expect(await attempt(counter)).toMatchObject(refused);
    await expectReason(user.userId, 'counter');
    expectStatus(await attempt(6), 200);
    expect((await stored(user.passkeyId)).counter).toBe(6);
  });

  it('accepts a challenge once when replicas receive the response concurrently', async () => {
    const user = await enrolled();
    const credential = user.authenticator.get(await signInOptions(identity), { counter: 1 });
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => signIn(n % 2 ? twin : identity, credential)),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(responses.filter(({ status }) => status === 401)).toHaveLength(19);
  });

  it('accepts a counter once when two copies of an authenticator sign in concurrently', async () => {
    const user = await enrolled();
    const credentials = await Promise.all(
      Array.from({ length: 20 }, async () => user.authenticator.get(await signInOptions(identity), { counter: 9 })),
    );
    const responses = await Promise.all(
      credentials.map((credential, n) => signIn(n % 2 ? twin : identity, credential)),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('responds with the same bytes, no sooner than 350 ms, whatever the reason', async () => {
    const [user, stranger] = [await enrolled(), newAuthenticator()];
    stranger.create({ challenge: 'AAAA', rp: { id: 'app.test' }, user: { id: 'AAAA' } });
    const used = user.authenticator.get(await signInOptions(identity));
    expectStatus(await signIn(identity, used), 200);
    const attempts: [string, object][] = [
      ['challenge', used],
      ['unknown_credential', stranger.get(await signInOptions(identity))],
      ['assertion', user.authenticator.get(await signInOptions(identity), { origin: 'https://evil.test' })],
      ['assertion', user.authenticator.get(await signInOptions(identity), { userVerified: false })],
      ['assertion', user.authenticator.get(await signInOptions(identity), { userHandle: null })],
      ['assertion', user.authenticator.get(await signInOptions(identity), { userHandle: 'AAAA' })],
      ['malformed', { id: 'x', response: [] }],
      ['malformed', user.authenticator.get(await signInOptions(identity), { crossOrigin: true })],
    ];
    const bodies = new Set<string>();
    for (const [reason, credential] of attempts) {
      const started = performance.now();
      const response = await signIn(identity, credential);
      expect(response).toMatchObject(refused);
      expect(performance.now() - started).toBeGreaterThanOrEqual(349);
      expect(response.headers['set-cookie']).toBeUndefined();
      bodies.add(JSON.stringify({ ...response.body, requestId: '' }));
      await expectReason(reason === 'assertion' ? user.userId : null, reason);
    }
    expect(bodies.size).toBe(1);
  });

  it('refuses users who are not active, and passkeys that were deleted after the challenge', async () => {
    const user = await enrolled();
    await testApp.query(`update user_account set status = 'disabled' where id = $1`, [user.userId]);
    expect(await signIn(identity, user.authenticator.get(await signInOptions(identity)))).toMatchObject(refused);
    await expectReason(user.userId, 'user_not_active');
    await testApp.query(`update user_account set status = 'active' where id = $1`, [user.userId]);
    const credential = user.authenticator.get(await signInOptions(identity));
    await testApp.query('delete from passkey where id = $1', [user.passkeyId]);
    expect(await signIn(identity, credential)).toMatchObject(refused);
  });

  it('refuses a response to a challenge of another purpose', async () => {
    const user = await enrolled();
    const login = await identity.post('/auth/login', { email: user.email, password: 'correct-horse-battery-7' });
    const { tempToken } = login.body as { tempToken: string };
    const { body } = expectStatus(await identity.post('/auth/mfa/passkey/options', { tempToken }), 200);
    expect(await signIn(identity, user.authenticator.get(body.options))).toMatchObject(refused);
    const credential = user.authenticator.get(await signInOptions(identity));
    const second = await identity.post('/auth/mfa/passkey/verify', { tempToken, credential });
    expect(second).toMatchObject({ status: 400, body: { code: 'mfa_code_invalid' } });
  });

  it('applies the address list of the entered tenant', async () => {
    const user = await enrolled();
    await testApp.query(
      `update partner set settings = '{"security": {"ipAllowlist": ["192.0.2.0/24"]}}' where id = $1`,
      [user.partnerId],
    );
    const response = await signIn(identity, user.authenticator.get(await signInOptions(identity)));
    expect(response).toMatchObject({ status: 403, body: { code: 'ip_not_allowed' } });
  });

  it('limits the attempts of a client, and responds with 404 while MFA is switched off', async () => {
    const limited = await testApp.startReplica({ RATE_LIMIT_PASSKEY_LOGIN: '2/300' });
    const from = '198.51.100.44';
    const options = () => limited.post('/auth/passkeys/login/options', {}, { from });
    expect((await Promise.all([options(), options()])).map(({ status }) => status)).toEqual([200, 200]);
    expect(await options()).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    const off = await testApp.startReplica({ ENABLE_2FA: 'false' });
    expect((await off.post('/auth/passkeys/login/options', {})).status).toBe(404);
    expect((await off.get('/auth/passkeys', { bearer: await signInAdmin(off) })).status).toBe(404);
  });
});
