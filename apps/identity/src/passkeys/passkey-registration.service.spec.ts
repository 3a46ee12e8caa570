import { randomBytes } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import {
  finishRegistration,
  newAuthenticator,
  registerPasskey,
  registrationOptions,
  signIn,
  signInOptions,
} from '../../test/passkeys.js';
import { enrollTotp, registerPartner, sessionOf, type TestUser } from '../../test/users.js';

const invalid = { status: 400, body: { code: 'passkey_registration_invalid' } };

describe('PasskeyRegistrationService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let twin: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    [identity, twin] = await Promise.all([testApp.startReplica(), testApp.startReplica()]);
  }, 120_000);
  afterAll(() => testApp.stop());

  const start = (user: { bearer: string }, body: object = {}) =>
    identity.post('/auth/passkeys/register/options', { currentPassword: PASSWORD, ...body }, user);
  const accountOf = async (userId: string) => {
    const [row] = await testApp.query(
      `select mfa_enabled as enabled, mfa_method as method, first_factor_at is not null as "everHadFactor",
         (select count(*)::int from passkey where user_id = user_account.id) as passkeys,
         (select count(*)::int from recovery_code where user_id = user_account.id) as codes from user_account where id = $1`,
      [userId],
    );
    return row;
  };
  /** Audit entries arrive by message. */
  const expectAudit = (user: TestUser, action: string, details: object[]) =>
    eventually(async () => {
      const rows = await testApp.query<{ details: object }>(
        'select details from audit_entry where actor_id = $1 and action = $2 order by sequence desc',
        [user.userId, action],
      );
      expect(rows.map((row) => row.details)).toEqual(details);
    });
  const outdateProofs = (userId: string) =>
    testApp.query(`update session_family set factor_proof_at = now() - interval '11 minutes' where user_id = $1`, [
      userId,
    ]);

  it('enables MFA with the first passkey and shows recovery codes once', async () => {
    const user = await registerPartner(identity);
    const options = await registrationOptions(identity, user, { name: 'Office laptop' });
    expect(options).toMatchObject({
      rp: { id: 'app.test', name: 'RMM' },
      user: { id: Buffer.from(user.userId.replaceAll('-', ''), 'hex').toString('base64url'), name: user.email },
      attestation: 'none',
      timeout: 300_000,
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
    });
    const algorithms = (options as unknown as { pubKeyCredParams: { alg: number }[] }).pubKeyCredParams;
    expect(algorithms.map(({ alg }) => alg)).toEqual([-8, -7, -257]);
    const registered = expectStatus(await finishRegistration(identity, user, newAuthenticator().create(options)), 200);
    expect(registered.body).toMatchObject({
      success: true,
      passkey: {
        name: 'Office laptop',
        deviceType: 'singleDevice',
        backedUp: false,
        transports: ['internal'],
        lastUsedAt: null,
      },
    });
    expect(registered.body.recoveryCodes).toHaveLength(10);
    const account = { enabled: true, method: 'passkey', everHadFactor: true, passkeys: 1, codes: 10 };
    expect(await accountOf(user.userId)).toEqual(account);
    expect((await identity.get('/users/me', user)).status).toBe(401);
    const { body } = expectStatus(await identity.get('/auth/passkeys', sessionOf(registered)), 200);
    expect(body).toMatchObject({ data: [registered.body.passkey], pagination: { page: 1, limit: 50, total: 1 } });
    await expectAudit(user, 'auth.mfa.passkey.register', [{ passkeyName: 'Office laptop' }]);
    await eventually(async () => {
      expect((await identity.mails(user.email)).map(({ subject }) => subject)).toContain('A passkey was added');
    });
  });

  it('leaves an authenticator app the primary method, and its recovery codes', async () => {
    const user = await registerPartner(identity);
    const totp = await enrollTotp(identity, user.bearer);
    const { recoveryCodes } = await registerPasskey(identity, totp);
    expect(recoveryCodes).toBeUndefined();
    expect(await accountOf(user.userId)).toMatchObject({ method: 'totp', passkeys: 1, codes: 10 });
    const { body } = await identity.post('/auth/login', { email: user.email, password: PASSWORD });
    expect(body).toMatchObject({ mfaMethod: 'totp', passkeyAvailable: true });
    expectStatus(
      await identity.post('/auth/mfa/verify', { tempToken: body.tempToken, code: totp.recoveryCodes[0] }),
      200,
    );
  });

  it('verifies the current password within a limit of its own', async () => {
    const user = await registerPartner(identity);
    const wrong = { status: 400, body: { code: 'invalid_credentials' } };
    expect(await start(user, { currentPassword: undefined })).toMatchObject({ status: 400 });
    for (let n = 0; n < 5; n += 1) expect(await start(user, { currentPassword: 'wrong' })).toMatchObject(wrong);
    expect(await start(user)).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    await expectAudit(
      user,
      'auth.mfa.passkey.register.failed',
      Array(5).fill({ reason: 'wrong_password' }) as object[],
    );
    const change = { currentPassword: PASSWORD, newPassword: 'another-correct-horse-8' };
    expectStatus(await identity.post('/auth/change-password', change, user), 200);
  });

  it('requires a step-up when the last proof of a factor is old, and uses its grant once', async () => {
    const user = await registerPartner(identity);
    const totp = await enrollTotp(identity, user.bearer);
    await outdateProofs(user.userId);
    const refused = { status: 403, body: { code: 'existing_factor_step_up_required', stepUpUrl: '/auth/mfa/step-up' } };
    expect(await start(totp)).toMatchObject(refused);
    const proof = { method: 'totp', operation: 'add_factor', code: totpCode(totp.secret) };
    const { stepUpGrantId } = expectStatus(await identity.post('/auth/mfa/step-up', proof, totp), 200).body;
    const create = async () => newAuthenticator().create(await registrationOptions(identity, totp, { stepUpGrantId }));
    const first = await create();
    expect(await finishRegistration(identity, totp, first)).toMatchObject(refused);
    expectStatus(await finishRegistration(identity, totp, await create(), { stepUpGrantId }), 200);
  });

  it('accepts a challenge once, from its session only, for five minutes', async () => {
    const user = await registerPartner(identity);
    const options = await registrationOptions(identity, user);
    const login = expectStatus(await identity.post('/auth/login', { email: user.email, password: PASSWORD }), 200);
    const other = sessionOf(login);
    const credential = newAuthenticator().create(options);
    expect(await finishRegistration(identity, other, credential)).toMatchObject(invalid);
    const stranger = await registerPartner(identity);
    expect(await finishRegistration(identity, stranger, credential)).toMatchObject(invalid);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => finishRegistration(n % 2 ? twin : identity, user, credential)),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await accountOf(user.userId)).toMatchObject({ passkeys: 1 });
    expect(await accountOf(stranger.userId)).toMatchObject({ enabled: false, passkeys: 0 });
  });

  it('uses the challenge up with a response that is refused', async () => {
    const user = await registerPartner(identity);
    const options = await registrationOptions(identity, user);
    const wrong = newAuthenticator().create(options, { origin: 'https://evil.test' });
    expect(await finishRegistration(identity, user, wrong)).toMatchObject(invalid);
    expect(await finishRegistration(identity, user, newAuthenticator().create(options))).toMatchObject(invalid);
    await expectAudit(user, 'auth.mfa.passkey.register.failed', [{ reason: 'credential' }, { reason: 'credential' }]);
  });

  it('refuses the credential id of another account with the response for a wrong one', async () => {
    const [owner, thief] = [await registerPartner(identity), await registerPartner(identity)];
    const credentialId = randomBytes(32);
    await registerPasskey(identity, owner, newAuthenticator(), { credentialId });
    const authenticator = newAuthenticator();
    const credential = authenticator.create(await registrationOptions(identity, thief), { credentialId });
    expect(await finishRegistration(identity, thief, credential)).toMatchObject(invalid);
    expect(await accountOf(thief.userId)).toMatchObject({ enabled: false, passkeys: 0 });
    expect((await signIn(identity, authenticator.get(await signInOptions(identity)))).status).toBe(401);
  });

  it('stores twenty passkeys and no more, also from concurrent sessions', async () => {
    const user = await registerPartner(identity);
    const { authenticator, bearer } = await registerPasskey(identity, user);
    await testApp.query(
      `insert into passkey (user_id, credential_id, public_key, counter, name, device_type, backed_up)
       select $1, gen_random_uuid()::text::bytea, '\\x00', 0, 'filler', 'singleDevice', false from generate_series(1, 18)`,
      [user.userId],
    );
    const bearers = [bearer];
    while (bearers.length < 4) {
      const login = expectStatus(await signIn(identity, authenticator.get(await signInOptions(identity))), 200);
      bearers.push(sessionOf(login).bearer);
    }
    // One challenge for each session, so that only the limit refuses them.
    const attempts = await Promise.all(
      bearers.map(async (caller) => ({
        caller: { bearer: caller },
        credential: newAuthenticator().create(await registrationOptions(identity, { bearer: caller })),
      })),
    );
    const responses = await Promise.all(
      attempts.map(({ caller, credential }, n) => finishRegistration(n % 2 ? twin : identity, caller, credential)),
    );
    const [registered, ...others] = responses.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    expect(await accountOf(user.userId)).toMatchObject({ passkeys: 20 });
    const full = { status: 409, body: { code: 'passkey_limit_reached' } };
    expect(await start(sessionOf(registered))).toMatchObject(full);
  });
});
