import { getQueueToken } from '@nestjs/bullmq';
import type { Queue } from 'bullmq';
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
import { enrollTotp, registerPartner, sessionOf, type TestUser } from '../../test/users.js';
import { FORGOT_PASSWORD_QUEUE } from './forgot-password-queue.service.js';

const NEW_PASSWORD = 'violet umbrella tango';
const INVALID = { status: 400, body: { code: 'reset_token_invalid' } };

describe('PasswordResetService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let queue: Queue;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    queue = identity.app.get<Queue>(getQueueToken(FORGOT_PASSWORD_QUEUE));
  }, 120_000);
  afterAll(() => testApp.stop());

  const forgot = (email: string, options = {}) => identity.post('/auth/forgot-password', { email }, options);
  const reset = (token: string, password = NEW_PASSWORD, options = {}) =>
    identity.post('/auth/reset-password', { token, password }, options);
  const login = (email: string, password: string) => identity.post('/auth/login', { email, password });
  const mailsOf = async (email: string, subject: string) =>
    (await identity.mails(email)).filter((mail) => mail.subject === subject);
  /** The token of the newest reset mail, once there are so many. */
  const linkFor = (email: string, count = 1) =>
    eventually(async () => {
      const mails = await mailsOf(email, 'Choose a new password');
      if (mails.length < count) throw new Error(`${mails.length} reset mails for ${email}`);
      return /token=([A-Za-z0-9_-]+)/.exec(mails[0]?.text ?? '')?.[1] ?? '';
    });
  const askAndGet = async ({ email }: TestUser) => {
    expectStatus(await forgot(email), 200);
    return linkFor(email);
  };
  /** Every request has been looked at. */
  const settled = () =>
    eventually(async () => {
      const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized');
      expect(Object.values(counts).every((count) => count === 0)).toBe(true);
    });
  const linksOf = (email: string) =>
    testApp.query(
      `select t.user_id from link_token t join user_account u on u.id = t.user_id
       where u.email = $1 and t.purpose = 'password_reset'`,
      [email],
    );
  it('sets a password by a mailed link, ends every session and creates none', async () => {
    const user = await registerPartner(identity);
    const asked = expectStatus(await forgot(user.email.toUpperCase(), { headers: { host: 'evil.test' } }), 200);
    expect(asked.body).toEqual({ success: true, message: expect.any(String) });
    const token = await linkFor(user.email);
    expect(token).toMatch(/^[A-Za-z0-9_-]{48}$/);
    const [mail] = await mailsOf(user.email, 'Choose a new password');
    expect(mail?.text).toContain(`https://app.test/reset-password?token=${token}`);

    const response = expectStatus(await reset(token), 200);
    expect(response.body).toEqual({ success: true, message: expect.any(String) });
    expect(response.headers['set-cookie']).toBeUndefined();
    expect((await identity.get('/auth/me', { bearer: user.bearer })).status).toBe(401);
    const headers = { 'x-service-csrf': user.cookies.service_csrf_token ?? '' };
    expect((await identity.post('/auth/refresh', undefined, { cookies: user.cookies, headers })).status).toBe(401);
    expect((await login(user.email, PASSWORD)).status).toBe(401);
    expect((await login(user.email, NEW_PASSWORD)).status).toBe(200);
    expect(await reset(token, 'another-horse-battery-8')).toMatchObject(INVALID);

    await eventually(async () => expect(await mailsOf(user.email, 'Your password was changed')).toHaveLength(1));
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
  }, 30_000);

  it('returns the same bytes to everyone and mails only users who can sign in', async () => {
    const disabled = await registerPartner(identity);
    await testApp.query(`update user_account set status = 'disabled' where id = $1`, [disabled.userId]);
    const passwordless = await registerPartner(identity);
    await testApp.query('update user_account set password_hash = null where id = $1', [passwordless.userId]);
    const suspended = await registerPartner(identity);
    await testApp.query(`update partner set status = 'suspended' where id = $1`, [suspended.partnerId]);
    const known = await registerPartner(identity);
    const invited = freshEmail('invited');
    await testApp.query(`insert into user_account (email, name) values ($1, 'Invited')`, [invited]);
    const without = [disabled.email, passwordless.email, suspended.email, invited, freshEmail()];

    const responses = [];
    for (const email of [known.email, ...without]) responses.push(await forgot(email));
    const from = freshAddress();
    for (let n = 0; n < 5; n += 1) responses.push(await forgot(freshEmail(), { from }));
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(responses[0]?.status).toBe(200);

    await settled();
    expect(await linksOf(known.email)).toHaveLength(1);
    for (const email of without) expect(await linksOf(email)).toEqual([]);
  }, 40_000);

  it('drops the fourth request of a client within an hour silently', async () => {
    const users = await Promise.all([registerPartner(identity), registerPartner(identity)]);
    const from = freshAddress();
    for (let n = 0; n < 3; n += 1) expectStatus(await forgot(users[0].email, { from }), 200);
    expectStatus(await forgot(users[1].email, { from }), 200);
    await settled();
    expect(await linksOf(users[0].email)).toHaveLength(1);
    expect(await linksOf(users[1].email)).toEqual([]);
  }, 30_000);

  it('limits mails per account whatever the number of clients', async () => {
    const { email } = await registerPartner(identity);
    for (let n = 0; n < 8; n += 1) expectStatus(await forgot(email), 200);
    await settled();
    expect(
      await testApp.query(`select id from mail where recipient = $1 and template = 'password-reset'`, [email]),
    ).toHaveLength(5);
    expect((await reset(await linkFor(email, 5))).status).toBe(200);
  }, 30_000);

  it('queues a job with sealed content', async () => {
    const { email } = await registerPartner(identity);
    await queue.pause();
    try {
      expectStatus(await forgot(email), 200);
      const jobs = await queue.getJobs(['waiting']);
      expect(jobs).toHaveLength(1);
      expect(Object.keys(jobs[0]?.data as object)).toEqual(['sealed']);
      expect(JSON.stringify(jobs[0])).not.toContain(email);
    } finally {
      await queue.resume();
    }
    await linkFor(email);
  }, 30_000);

  it('keeps the link valid when the new password is weak or the body is invalid', async () => {
    const user = await registerPartner(identity);
    const token = await askAndGet(user);
    for (const weak of ['short', 'password', user.email]) {
      expect(await reset(token, weak)).toMatchObject({ status: 400, body: { code: 'weak_password' } });
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
    expect(await forgot('invalid')).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  }, 30_000);

  it("applies the password rules of the user's partner", async () => {
    const user = await registerPartner(identity);
    await testApp.query(`update partner set settings = '{"security": {"passwordMinLength": 30}}' where id = $1`, [
      user.partnerId,
    ]);
    const token = await askAndGet(user);
    expect(await reset(token)).toMatchObject({ status: 400, body: { code: 'weak_password' } });
    expectStatus(await reset(token, 'violet umbrella tango in the rain'), 200);
  }, 30_000);

  it('succeeds once for concurrent uses of a link', async () => {
    const user = await registerPartner(identity);
    const token = await askAndGet(user);
    const passwords = Array.from({ length: 6 }, (_, n) => `violet umbrella tango ${n}`);
    const responses = await Promise.all(passwords.map((password) => reset(token, password)));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400, 400]);
    expect(withStatus(responses, 400)).toMatchObject(INVALID);
    const winner = passwords[responses.findIndex(({ status }) => status === 200)] ?? '';
    expect((await login(user.email, winner)).status).toBe(200);
  }, 30_000);

  it.each([
    ['is an hour old', `update link_token set expires_at = now() where user_id = $1 and purpose = 'password_reset'`],
    ['belongs to someUser disabled', `update user_account set status = 'disabled' where id = $1`],
    [
      'belongs to a suspended tenant',
      `update partner set status = 'suspended' where id = (select partner_id from partner_membership where user_id = $1)`,
    ],
    ['belongs to an invited user', `update user_account set status = 'invited' where id = $1`],
    [
      'is of another kind',
      `update link_token set purpose = 'email_change' where user_id = $1 and purpose = 'password_reset'`,
    ],
  ])(
    'refuse a link that %s',
    async (_, change) => {
      const user = await registerPartner(identity);
      const token = await askAndGet(user);
      await testApp.query(change, [user.userId]);
      expect(await reset(token)).toMatchObject(INVALID);
      expect(
        await testApp.query('select 1 from user_account where id = $1 and password_changed_at > created_at', [
          user.userId,
        ]),
      ).toEqual([]);
    },
    30_000,
  );

  it('refuses unknown tokens and records an audit entry', async () => {
    const from = freshAddress();
    for (const token of ['x', 'A'.repeat(48), `${'A'.repeat(47)}'`]) {
      expect(await reset(token, NEW_PASSWORD, { from })).toMatchObject(INVALID);
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
  }, 20_000);

  it('refuses a link after a newer one, a changed password or a changed address', async () => {
    const superseded = await registerPartner(identity);
    const older = await askAndGet(superseded);
    expectStatus(await forgot(superseded.email), 200);
    const newer = await linkFor(superseded.email, 2);
    expect(await reset(older)).toMatchObject(INVALID);

    const { bearer } = sessionOf(await login(superseded.email, PASSWORD));
    const change = { currentPassword: PASSWORD, newPassword: 'another-horse-battery-8' };
    expectStatus(await identity.post('/auth/change-password', change, { bearer }), 200);
    expect(await reset(newer)).toMatchObject(INVALID);

    const mover = await registerPartner(identity);
    const token = await askAndGet(mover);
    const email = freshEmail('moved');
    const fresh = sessionOf(await login(mover.email, PASSWORD));
    expectStatus(await identity.patch('/users/me', { email }, { bearer: fresh.bearer }), 200);
    const confirmation = await identity.mailedToken(email);
    expectStatus(await identity.post('/auth/verify-email', { token: confirmation }), 200);
    expect(await reset(token)).toMatchObject(INVALID);
  }, 40_000);

  it('still requires the second factor at login', async () => {
    const user = await registerPartner(identity);
    await enrollTotp(identity, user.bearer);
    expectStatus(await reset(await askAndGet(user)), 200);
    const response = expectStatus(await login(user.email, NEW_PASSWORD), 200);
    expect(response.body).toMatchObject({ mfaRequired: true, tokens: null });
  }, 30_000);

  it('clears an account lock, whose mail contains a link', async () => {
    const { email } = await registerPartner(identity);
    for (let n = 0; n < 5; n += 1) await login(email, 'wrong password');
    expect((await login(email, PASSWORD)).status).toBe(401);
    const token = await eventually(async () => {
      const [mail] = await mailsOf(email, 'Sign-in to your account is paused');
      const link = /https:\/\/app\.test\/reset-password\?token=([A-Za-z0-9_-]{48})$/m.exec(mail?.text ?? '')?.[1];
      if (!link) throw new Error('no mail with a link');
      return link;
    });
    expectStatus(await reset(token), 200);
    expect((await login(email, NEW_PASSWORD)).status).toBe(200);
  }, 30_000);

  it('limits attempts per client', async () => {
    const from = freshAddress();
    const guess = () => reset('A'.repeat(48), NEW_PASSWORD, { from });
    for (let n = 0; n < 10; n += 1) expect((await guess()).status).toBe(400);
    expect(await guess()).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
  }, 20_000);

  it('returns 503 while Redis is down', async () => {
    const { email } = await registerPartner(identity);
    await testApp.stores.redis.stop();
    const unavailable = { status: 503, body: { code: 'service_unavailable' } };
    expect(await forgot(email)).toMatchObject(unavailable);
    expect(await forgot(freshEmail())).toMatchObject(unavailable);
    expect(await reset('A'.repeat(48))).toMatchObject(unavailable);
    await testApp.stores.redis.start();
    await eventually(async () => expectStatus(await forgot(email), 200));
    await linkFor(email);
  }, 60_000);
});
