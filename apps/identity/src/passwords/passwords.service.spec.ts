import { eventually } from '@rmm/testing-services';
import {
  ADMIN,
  cookiesOf,
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { registerPartner, signInAdmin } from '../../test/users.js';

const NEW_PASSWORD = 'violet umbrella tango';

describe('PasswordsService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
  }, 120_000);
  afterAll(() => testApp.stop());

  const login = (email: string, password: string) => identity.post('/auth/login', { email, password });
  const mailsOf = async (email: string, subject: string) =>
    (await identity.mails(email)).filter((mail) => mail.subject === subject);

  it('ends every session when the password changes and none when the current one is wrong', async () => {
    const bearer = await signInAdmin(identity);
    const wrong = await identity.post(
      '/auth/change-password',
      { currentPassword: 'nope', newPassword: 'violet umbrella tango' },
      { bearer },
    );
    expect(wrong).toMatchObject({
      status: 400,
      body: { code: 'invalid_credentials', message: 'Current password is incorrect' },
    });
    const weak = await identity.post(
      '/auth/change-password',
      { currentPassword: ADMIN.password, newPassword: 'password' },
      { bearer },
    );
    expect(weak).toMatchObject({ status: 400, body: { code: 'weak_password' } });
    expectStatus(
      await identity.post(
        '/auth/change-password',
        { currentPassword: ADMIN.password, newPassword: 'violet umbrella tango' },
        { bearer },
      ),
      200,
    );
    expect((await identity.get('/users/me', { bearer })).status).toBe(401);
    const login = expectStatus(
      await identity.post('/auth/login', { email: ADMIN.email, password: 'violet umbrella tango' }),
      200,
    );
    expect(login.body.requiresSetup).toBe(false);
  });

  const change = (bearer: string, newPassword: string, currentPassword = PASSWORD) =>
    identity.post('/auth/change-password', { currentPassword, newPassword }, { bearer });

  it('records an audit entry for success and failure, mails the user and clears the cookies', async () => {
    const user = await registerPartner(identity);
    expect((await change(user.bearer, NEW_PASSWORD, 'wrong password')).status).toBe(400);
    const done = expectStatus(await change(user.bearer, NEW_PASSWORD), 200);
    expect(cookiesOf(done)).toEqual({ service_refresh_token: '', service_csrf_token: '' });
    await eventually(async () => expect(await mailsOf(user.email, 'Your password was changed')).toHaveLength(1));
    await eventually(async () =>
      expect(
        await testApp.query(
          `select result, details from audit_entry where action = 'user.password.change' and resource_id = $1
           order by sequence`,
          [user.userId],
        ),
      ).toEqual([
        { result: 'failure', details: { reason: 'wrong_password' } },
        { result: 'success', details: {} },
      ]),
    );
  });

  it('succeeds once for concurrent changes', async () => {
    const user = await registerPartner(identity);
    const passwords = [1, 2, 3].map((n) => `${NEW_PASSWORD} ${n}`);
    const responses = await Promise.all(passwords.map((password) => change(user.bearer, password)));
    const winners = passwords.filter((_, n) => responses[n]?.status === 200);
    expect(winners).toHaveLength(1);
    expect((await login(user.email, winners[0] ?? '')).status).toBe(200);
    expect((await login(user.email, PASSWORD)).status).toBe(401);
  });
});
