import {
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type TestResponse,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { claimsOf, enrollTotp, registerPartner, registerProtectedPartner, sessionOf } from '../../test/users.js';

describe('MfaEnrollmentService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
  }, 120_000);
  afterAll(() => testApp.stop());

  const login = (email: string) => identity.post('/auth/login', { email, password: PASSWORD });
  const mfaClaim = (response: TestResponse) => claimsOf(sessionOf(response).bearer).mfa;
  const enrolled = () => registerProtectedPartner(identity);

  it('is enabled once, ends the older session and returns the recovery codes of the setup', async () => {
    const partner = await registerPartner(identity);
    const setup = expectStatus(await identity.post('/auth/mfa/setup', undefined, { bearer: partner.bearer }), 200);
    expect(setup.body).toEqual({
      secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
      otpAuthUrl: expect.stringContaining('otpauth://totp/'),
      qrCodeDataUrl: expect.stringMatching(/^data:image\/png;base64,/),
      recoveryCodes: expect.any(Array),
    });
    const wrong = await identity.post('/auth/mfa/enable', { code: '000000' }, { bearer: partner.bearer });
    expect(wrong).toMatchObject({ status: 400, body: { code: 'mfa_code_invalid' } });

    const code = totpCode(setup.body.secret as string);
    const enabled = expectStatus(await identity.post('/auth/mfa/enable', { code }, { bearer: partner.bearer }), 200);
    expect(enabled.body.recoveryCodes).toEqual(setup.body.recoveryCodes);
    expect(mfaClaim(enabled)).toBe(true);
    expect((await identity.get('/auth/me', { bearer: partner.bearer })).status).toBe(401);
    const me = expectStatus(await identity.get('/auth/me', { bearer: sessionOf(enabled).bearer }), 200);
    expect(me.body.user).toMatchObject({ mfaEnabled: true, mfaMethod: 'totp', recoveryCodesLeft: 10 });
    const again = await identity.post('/auth/mfa/setup', undefined, { bearer: sessionOf(enabled).bearer });
    expect(again).toMatchObject({ status: 400, body: { code: 'mfa_already_enabled' } });
  });

  it('is confirmed by verify only in the session that started the setup', async () => {
    const partner = await registerPartner(identity);
    const setup = await identity.post('/auth/mfa/setup', undefined, { bearer: partner.bearer });
    const other = sessionOf(await login(partner.email));
    const code = totpCode(setup.body.secret as string);
    const elsewhere = await identity.post('/auth/mfa/verify', { code }, { bearer: other.bearer });
    expect(elsewhere).toMatchObject({ status: 400, body: { code: 'mfa_setup_not_pending' } });
    expect((await identity.post('/auth/mfa/verify', { code })).status).toBe(401);
    const confirmed = await identity.post('/auth/mfa/verify', { code }, { bearer: partner.bearer });
    expect(confirmed).toMatchObject({ status: 200, body: { success: true } });
    expect(mfaClaim(confirmed)).toBe(true);
  });

  it('is required by the partner at once while enrollment stays possible', async () => {
    const partner = await registerPartner(identity);
    const settings = JSON.stringify({ security: { requireMfa: true, allowedMfaMethods: { sms: false } } });
    await testApp.query('update partner set settings = $2 where id = $1', [partner.partnerId, settings]);
    const login1 = expectStatus(await login(partner.email), 200);
    expect(login1.body).toMatchObject({
      mfaEnrollmentRequired: true,
      enrollUrl: '/auth/mfa/setup',
      mfaEnrollmentDeadline: null,
    });
    const { bearer } = sessionOf(login1);
    expect(await identity.get('/users', { bearer })).toMatchObject({
      status: 428,
      body: { code: 'mfa_enrollment_required', enrollUrl: '/auth/mfa/setup', allowedMethods: ['totp', 'passkey'] },
    });
    expect((await identity.get('/users/me', { bearer })).status).toBe(200);
    const enrolledSession = await enrollTotp(identity, bearer);
    expect((await identity.get('/users', { bearer: enrolledSession.bearer })).status).toBe(200);
  });

  it('is required by a role after a window that opens once', async () => {
    const strict = await testApp.startReplica({ MFA_FORCE_FOR_PARTNER_ADMIN: 'true' });
    const partner = await registerPartner(strict);
    const signIn = () => strict.post('/auth/login', { email: partner.email, password: PASSWORD });
    const first = expectStatus(await signIn(), 200);
    const deadline = new Date(first.body.mfaEnrollmentDeadline as string).getTime();
    expect(Math.round((deadline - Date.now()) / 86_400_000)).toBe(14);
    expect((await strict.get('/users', { bearer: sessionOf(first).bearer })).body.data[0].mfaStatus).toBe('pending');
    expect((await signIn()).body.mfaEnrollmentDeadline).toBe(first.body.mfaEnrollmentDeadline);

    await testApp.query(
      `update user_account set mfa_grace_granted_at = now() - interval '15 days', mfa_enrollment_deadline = now() - interval '1 day' where id = $1`,
      [partner.userId],
    );
    const late = expectStatus(await signIn(), 200);
    expect(late.body).toMatchObject({ mfaEnrollmentRequired: true, mfaEnrollmentDeadline: null });
    expect((await strict.get('/users', { bearer: sessionOf(late).bearer })).status).toBe(428);
  });

  it('returns 404 while MFA is disabled', async () => {
    const off = await testApp.startReplica({ ENABLE_2FA: 'false' });
    const partner = await registerPartner(off);
    expect((await off.post('/auth/mfa/setup', undefined, { bearer: partner.bearer })).status).toBe(404);
    expect((await off.post('/auth/mfa/verify', { code: '123456', tempToken: 'x' })).status).toBe(404);
    expect((await off.get('/config')).body.mfa).toEqual({ enabled: false });
    expect(mfaClaim(await off.post('/auth/login', { email: partner.email, password: PASSWORD }))).toBe(true);
  });

  it('stores neither secret nor code in plain text', async () => {
    const user = await enrolled();
    const [row] = await testApp.query<{ secret: string; codes: string }>(
      `select secret_sealed as secret, (select string_agg(encode(code_hash, 'hex'), ' ') from recovery_code where user_id = $1) as codes
       from totp_factor where user_id = $1`,
      [user.userId],
    );
    expect(row?.secret).toMatch(/^v1\./);
    expect(row?.secret).not.toContain(user.secret);
    expect(row?.codes.split(' ')).toHaveLength(10);
  });
});
