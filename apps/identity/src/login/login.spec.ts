import {
  ADMIN,
  cookiesOf,
  freshAddress,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { eventually } from '@rmm/testing-services';
import { registerPartner, signInAdmin } from '../../test/users.js';

describe('password login', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
  }, 120_000);
  afterAll(() => testApp.stop());

  const failures = (email: string) =>
    testApp.query<{ reason: string }>(
      `select details ->> 'reason' as reason from audit_entry where action = 'user.login.failed'
       and (actor_email = $1 or resource_name = $1) order by sequence`,
      [email],
    );

  it('answers the login body, both cookies and a token that opens a door', async () => {
    const answer = await identity.post('/auth/login', ADMIN);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      user: expect.objectContaining({ email: ADMIN.email, isPlatformAdmin: true, mfaEnabled: false }),
      tokens: { accessToken: expect.any(String), expiresInSeconds: 900 },
      csrfToken: expect.stringMatching(/^[0-9a-f]{64}$/),
      mfaRequired: false,
      requiresSetup: true,
      mfaEnrollmentRequired: false,
      mfaEnrollmentDeadline: null,
    });
    expect(answer.headers['cache-control']).toBe('no-store');
    const cookies = cookiesOf(answer);
    expect(cookies.service_refresh_token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(cookies.service_csrf_token).toBe(answer.body.csrfToken);
    const refresh = (answer.headers['set-cookie'] as unknown as string[])[0];
    expect(refresh).toMatch(/Path=\/api\/v1\/auth; HttpOnly; SameSite=Lax; Max-Age=604800$/);

    const me = await identity.get('/users/me', { bearer: answer.body.tokens.accessToken });
    expect(me.body).toMatchObject({
      email: ADMIN.email,
      scope: 'system',
      permissions: [{ resource: '*', action: '*' }],
    });
  });

  it('signs with a key that stands in the JWKS', async () => {
    const bearer = await signInAdmin(identity);
    const header = JSON.parse(Buffer.from(bearer.split('.')[0] ?? '', 'base64url').toString());
    const jwks = await identity.get('/auth/.well-known/jwks.json');
    expect(jwks.headers['cache-control']).toBe('max-age=300');
    expect(jwks.body.keys).toEqual([expect.objectContaining({ kid: header.kid, kty: 'EC', crv: 'P-256', use: 'sig' })]);
    expect(jwks.body.keys[0]).not.toHaveProperty('d');
  });

  it('refuses every reason with the same bytes, no sooner than the floor', async () => {
    const invited = freshEmail('invited');
    await testApp.query(`insert into user_account (email, name) values ($1, 'Invited')`, [invited]);
    const started = performance.now();
    const answers = [
      await identity.post('/auth/login', { email: freshEmail(), password: PASSWORD }),
      await identity.post('/auth/login', { email: ADMIN.email, password: `${ADMIN.password} ` }),
      await identity.post('/auth/login', { email: invited, password: PASSWORD }),
    ];
    expect(performance.now() - started).toBeGreaterThanOrEqual(3 * 349);
    const bodies = answers.map(({ status, body }) => ({ status, ...body, requestId: '' }));
    expect(bodies[0]).toMatchObject({ status: 401, code: 'login_failed', error: 'Invalid email or password' });
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    expect(answers.every((answer) => answer.headers['set-cookie'] === undefined)).toBe(true);
  });

  it('names every problem of a bad body', async () => {
    const answer = await identity.post('/auth/login', { email: 'nobody', admin: true });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ code: 'validation_failed' });
    expect(Object.keys(answer.body.details.fieldErrors).sort()).toEqual(['admin', 'email', 'password']);
  });

  it('limits guesses per address and e-mail, other users are let in', async () => {
    const from = freshAddress();
    const guess = (email: string) => identity.post('/auth/login', { email, password: 'wrong password' }, { from });
    const email = freshEmail();
    for (let n = 0; n < 5; n += 1) expect((await guess(email)).status).toBe(401);
    const refused = await guess(email.toUpperCase());
    expect(refused.status).toBe(429);
    expect(refused.body.retryAfter).toBeGreaterThanOrEqual(1);
    expect(refused.headers['retry-after']).toBe(String(refused.body.retryAfter));
    expect((await identity.post('/auth/login', ADMIN, { from })).status).toBe(200);
  }, 15_000);

  it('locks an account after five failures from anywhere, tells its owner once, and lets the right password wait', async () => {
    const partner = await registerPartner(identity);
    for (let n = 0; n < 7; n += 1) {
      await identity.post('/auth/login', { email: partner.email, password: 'wrong password' });
    }
    const locked = await identity.post('/auth/login', { email: partner.email, password: PASSWORD });
    expect(locked.status).toBe(401);
    expect(locked.body.code).toBe('login_failed');
    const mails = await identity.mails(partner.email);
    expect(mails.filter(({ subject }) => subject.includes('paused'))).toHaveLength(1);
  }, 30_000);

  it("keeps users out whose address is not on the partner's list", async () => {
    const partner = await registerPartner(identity);
    const settings = JSON.stringify({ security: { ipAllowlist: ['198.51.100.0/24'] } });
    await testApp.query('update partner set settings = $2 where id = $1', [partner.partnerId, settings]);
    const from = (address: string) =>
      identity.post('/auth/login', { email: partner.email, password: PASSWORD }, { from: address });
    expect(await from('203.0.113.200')).toMatchObject({ status: 403, body: { code: 'ip_not_allowed' } });
    expect((await from('198.51.100.7')).status).toBe(200);
  }, 20_000);

  it('lets nobody in whose partner is suspended, and says no more than for a wrong password', async () => {
    const partner = await registerPartner(identity);
    await testApp.query(`update partner set status = 'suspended' where id = $1`, [partner.partnerId]);
    const answer = await identity.post('/auth/login', { email: partner.email, password: PASSWORD });
    expect(answer).toMatchObject({ status: 401, body: { code: 'login_failed' } });
  }, 20_000);

  it('writes the true reason of a refusal into the audit trail', async () => {
    const email = freshEmail();
    await identity.post('/auth/login', { email, password: PASSWORD });
    await eventually(async () => expect(await failures(email)).toEqual([{ reason: 'unknown_address' }]));
  }, 20_000);
});
