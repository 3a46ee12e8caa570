import { eventually } from '@rmm/testing-services';
import {
  ADMIN,
  cookiesOf,
  freshAddress,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { registerPartner, signInAdmin } from '../../test/users.js';

describe('LoginService', () => {
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

  it('returns the login body, both cookies and a valid access token', async () => {
    const response = await identity.post('/auth/login', ADMIN);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      user: expect.objectContaining({ email: ADMIN.email, isPlatformAdmin: true, mfaEnabled: false }),
      tokens: { accessToken: expect.any(String), expiresInSeconds: 900 },
      csrfToken: expect.stringMatching(/^[0-9a-f]{64}$/),
      mfaRequired: false,
      requiresSetup: true,
      mfaEnrollmentRequired: false,
      mfaEnrollmentDeadline: null,
    });
    expect(response.headers['cache-control']).toBe('no-store');
    const cookies = cookiesOf(response);
    expect(cookies.service_refresh_token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(cookies.service_csrf_token).toBe(response.body.csrfToken);
    const refresh = (response.headers['set-cookie'] as unknown as string[])[0];
    expect(refresh?.split('; ').slice(1).sort()).toEqual([
      'HttpOnly',
      'Max-Age=604800',
      'Path=/api/v1/auth',
      'SameSite=Lax',
    ]);

    const me = await identity.get('/users/me', { bearer: response.body.tokens.accessToken });
    expect(me.body).toMatchObject({
      email: ADMIN.email,
      scope: 'system',
      permissions: [{ resource: '*', action: '*' }],
    });
  });

  it('signs tokens with a key of the JWKS', async () => {
    const bearer = await signInAdmin(identity);
    const header = JSON.parse(Buffer.from(bearer.split('.')[0] ?? '', 'base64url').toString());
    const jwks = await identity.get('/auth/.well-known/jwks.json');
    expect(jwks.headers['cache-control']).toBe('max-age=300');
    expect(jwks.body.keys).toEqual([expect.objectContaining({ kid: header.kid, kty: 'EC', crv: 'P-256', use: 'sig' })]);
    expect(jwks.body.keys[0]).not.toHaveProperty('d');
  });

  it('returns the same bytes for every reason, no sooner than the latency floor', async () => {
    const invited = freshEmail('invited');
    await testApp.query(`insert into user_account (email, name) values ($1, 'Invited')`, [invited]);
    const started = performance.now();
    const responses = [
      await identity.post('/auth/login', { email: freshEmail(), password: PASSWORD }),
      await identity.post('/auth/login', { email: ADMIN.email, password: `${ADMIN.password} ` }),
      await identity.post('/auth/login', { email: invited, password: PASSWORD }),
    ];
    expect(performance.now() - started).toBeGreaterThanOrEqual(3 * 349);
    const bodies = responses.map(({ status, body }) => ({ status, ...body, requestId: '' }));
    expect(bodies[0]).toMatchObject({ status: 401, code: 'login_failed', error: 'Invalid email or password' });
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    expect(responses.every((response) => response.headers['set-cookie'] === undefined)).toBe(true);
  });

  it('returns every validation error of the body', async () => {
    const response = await identity.post('/auth/login', { email: 'invalid', admin: true });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ code: 'validation_failed' });
    expect(Object.keys(response.body.details.fieldErrors).sort()).toEqual(['admin', 'email', 'password']);
  });

  it('limits attempts per client and e-mail address without affecting other users', async () => {
    const from = freshAddress();
    const guess = (email: string) => identity.post('/auth/login', { email, password: 'wrong password' }, { from });
    const email = freshEmail();
    for (let n = 0; n < 5; n += 1) expect((await guess(email)).status).toBe(401);
    const refused = await guess(email.toUpperCase());
    expect(refused.status).toBe(429);
    expect(refused.body.retryAfter).toBeGreaterThanOrEqual(1);
    expect(refused.headers['retry-after']).toBe(String(refused.body.retryAfter));
    expect((await identity.post('/auth/login', ADMIN, { from })).status).toBe(200);
  });

  it("returns 403 when the address is not on the partner's allowlist", async () => {
    const partner = await registerPartner(identity);
    const settings = JSON.stringify({ security: { ipAllowlist: ['198.51.100.0/24'] } });
    await testApp.query('update partner set settings = $2 where id = $1', [partner.partnerId, settings]);
    const from = (address: string) =>
      identity.post('/auth/login', { email: partner.email, password: PASSWORD }, { from: address });
    expect(await from('203.0.113.200')).toMatchObject({ status: 403, body: { code: 'ip_not_allowed' } });
    expect((await from('198.51.100.7')).status).toBe(200);
  });

  it('returns the response of a wrong password when the partner is suspended', async () => {
    const partner = await registerPartner(identity);
    await testApp.query(`update partner set status = 'suspended' where id = $1`, [partner.partnerId]);
    const response = await identity.post('/auth/login', { email: partner.email, password: PASSWORD });
    expect(response).toMatchObject({ status: 401, body: { code: 'login_failed' } });
  });

  it('records the reason of a refusal in the audit entry', async () => {
    const email = freshEmail();
    await identity.post('/auth/login', { email, password: PASSWORD });
    await eventually(async () => expect(await failures(email)).toEqual([{ reason: 'unknown_address' }]));
  });
});
