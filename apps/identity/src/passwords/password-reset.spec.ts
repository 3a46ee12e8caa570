import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  freshAddress,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
  withStatus,
} from '../../test/identity-test-app.js';
import { NEW_PASSWORD, PasswordResetsClient } from '../../test/password-resets.js';
import { enrollTotp, registerPartner } from '../../test/users.js';

const INVALID = { status: 400, body: { code: 'reset_token_invalid' } };

describe('a reset of a password', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let links: PasswordResetsClient;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    links = new PasswordResetsClient(identity);
  }, 120_000);
  afterAll(() => testApp.stop());

  const login = (email: string, password: string) => identity.post('/auth/login', { email, password });
  it('sets a password by a mailed link, ends every session and creates none', async () => {
    const user = await registerPartner(identity);
    const asked = expectStatus(await links.forgot(user.email.toUpperCase(), { headers: { host: 'evil.test' } }), 200);
    expect(asked.body).toEqual({ success: true, message: expect.any(String) });
    const token = await links.linkFor(user.email);
    expect(token).toMatch(/^[A-Za-z0-9_-]{48}$/);
    const [mail] = await links.mailsOf(user.email, 'Choose a new password');
    expect(mail?.text).toContain(`https://app.test/reset-password?token=${token}`);

    const response = expectStatus(await links.reset(token), 200);
    expect(response.body).toEqual({ success: true, message: expect.any(String) });
    expect(response.headers['set-cookie']).toBeUndefined();
    expect((await identity.get('/auth/me', { bearer: user.bearer })).status).toBe(401);
    const headers = { 'x-service-csrf': user.cookies.service_csrf_token ?? '' };
    expect((await identity.post('/auth/refresh', undefined, { cookies: user.cookies, headers })).status).toBe(401);
    expect((await login(user.email, PASSWORD)).status).toBe(401);
    expect((await login(user.email, NEW_PASSWORD)).status).toBe(200);
    expect(await links.reset(token, 'another-horse-battery-8')).toMatchObject(INVALID);

    await eventually(async () => expect(await links.mailsOf(user.email, 'Your password was changed')).toHaveLength(1));
    await eventually(async () =>
      expect(
        await testApp.query(
          `select result, partner_id as "partnerId" from audit_entry
           where action = 'user.password.reset' and resource_id = $1 and result = 'success'`,
          [user.userId],
        ),
      ).toEqual([{ result: 'success', partnerId: user.partnerId }]),
    );
    const reasons = await testApp.query(
      'select distinct revoked_reason as reason from session_family where user_id = $1 and revoked_at is not null',
      [user.userId],
    );
    expect(reasons).toEqual([{ reason: 'password_reset' }]);
  });

  it('keeps the link valid when the new password is weak or the body is invalid', async () => {
    const user = await registerPartner(identity);
    const token = await links.requestLink(user);
    for (const weak of ['short', 'password', user.email]) {
      expect(await links.reset(token, weak)).toMatchObject({ status: 400, body: { code: 'weak_password' } });
    }
    const wrong = [
      { token },
      { token, password: NEW_PASSWORD, newPassword: NEW_PASSWORD },
      { token, password: NEW_PASSWORD, admin: true },
      { password: NEW_PASSWORD },
      { token: 7, password: NEW_PASSWORD },
    ];
    for (const body of wrong) {
      const response = await identity.post('/auth/reset-password', body);
      expect(response).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    }
    expectStatus(await identity.post('/auth/reset-password', { token, newPassword: NEW_PASSWORD }), 200);
    expect(await links.forgot('invalid')).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  });

  it("applies the password rules of the user's partner", async () => {
    const user = await registerPartner(identity);
    await testApp.query(`update partner set settings = '{"security": {"passwordMinLength": 30}}' where id = $1`, [
      user.partnerId,
    ]);
    const token = await links.requestLink(user);
    expect(await links.reset(token)).toMatchObject({ status: 400, body: { code: 'weak_password' } });
    expectStatus(await links.reset(token, 'violet umbrella tango in the rain'), 200);
  });

  it('succeeds once for concurrent uses of a link', async () => {
    const user = await registerPartner(identity);
    const token = await links.requestLink(user);
    const passwords = Array.from({ length: 6 }, (_, n) => `violet umbrella tango ${n}`);
    const responses = await Promise.all(passwords.map((password) => links.reset(token, password)));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400, 400]);
    expect(withStatus(responses, 400)).toMatchObject(INVALID);
    const winner = passwords[responses.findIndex(({ status }) => status === 200)] ?? '';
    expect((await login(user.email, winner)).status).toBe(200);
  });

  it('refuses unknown tokens and records an audit entry', async () => {
    const from = freshAddress();
    for (const token of ['x', 'A'.repeat(48), `${'A'.repeat(47)}'`]) {
      expect(await links.reset(token, NEW_PASSWORD, { from })).toMatchObject(INVALID);
    }
    const row = { result: 'failure', reason: 'token_invalid' };
    await eventually(async () =>
      expect(
        await testApp.query(
          `select result, details ->> 'reason' as reason from audit_entry
           where action = 'user.password.reset' and ip_address = $1`,
          [from],
        ),
      ).toEqual([row, row, row]),
    );
  });

  it('still requires the second factor at login', async () => {
    const user = await registerPartner(identity);
    await enrollTotp(identity, user.bearer);
    expectStatus(await links.reset(await links.requestLink(user)), 200);
    const response = expectStatus(await login(user.email, NEW_PASSWORD), 200);
    expect(response.body).toMatchObject({ mfaRequired: true, tokens: null });
  });

  it('limits attempts per client', async () => {
    const from = freshAddress();
    const guess = () => links.reset('A'.repeat(48), NEW_PASSWORD, { from });
    for (let n = 0; n < 10; n += 1) expect((await guess()).status).toBe(400);
    expect(await guess()).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
  });

  it('returns 503 while Redis is down', async () => {
    const { email } = await registerPartner(identity);
    await testApp.stores.redis.stop();
    const unavailable = { status: 503, body: { code: 'service_unavailable' } };
    expect(await links.forgot(email)).toMatchObject(unavailable);
    expect(await links.forgot(freshEmail())).toMatchObject(unavailable);
    expect(await links.reset('A'.repeat(48))).toMatchObject(unavailable);
    await testApp.stores.redis.start();
    await eventually(async () => expectStatus(await links.forgot(email), 200));
    await links.linkFor(email);
  });
});
