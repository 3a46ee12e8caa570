import { connect } from 'nats';
import { IDENTITY_ACCESS_RESOLVE, type AccessResolveRequest, type AccessSnapshot } from '@rmm/contracts';
import { natsOptions } from '@rmm/messaging';
import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, sessionOf, type TestUser } from '../../test/users.js';
import { MfaRepository } from './mfa.repository.js';
import { SendMfaRemindersJob } from './send-mfa-reminders.job.js';

interface Window {
  granted: Date | null;
  deadline: Date | null;
  days: number | null;
}

describe('enrollment window', () => {
  let testApp: IdentityTestApp;
  /** The flag of the role is not enforced, and it is. */
  let lax: IdentityReplica;
  let strict: IdentityReplica;
  let twin: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    const forced = { MFA_FORCE_FOR_PARTNER_ADMIN: 'true' };
    [lax, strict, twin] = await Promise.all([
      testApp.startReplica(),
      testApp.startReplica(forced),
      testApp.startReplica(forced),
    ]);
  }, 120_000);
  afterAll(() => testApp.stop());

  const login = (email: string, at = strict) => at.post('/auth/login', { email, password: PASSWORD });
  const windowOf = async (userId: string): Promise<Window> => {
    const [row] = await testApp.query<Window>(
      `select mfa_grace_granted_at as granted, mfa_enrollment_deadline as deadline,
         (extract(epoch from mfa_enrollment_deadline - mfa_grace_granted_at) / 86400)::float8 as days
       from user_account where id = $1`,
      [userId],
    );
    return row;
  };
  const setDays = (partnerId: string, mfaEnrollmentGraceDays: number) =>
    testApp.query('update partner set settings = $2 where id = $1', [
      partnerId,
      JSON.stringify({ security: { mfaEnrollmentGraceDays } }),
    ]);
  /** Moves a window into the past, as time would. */
  const age = (userId: string, days: number) =>
    testApp.query(
      `update user_account set mfa_grace_granted_at = mfa_grace_granted_at - make_interval(days => $2),
         mfa_enrollment_deadline = mfa_enrollment_deadline - make_interval(days => $2) where id = $1`,
      [userId, days],
    );
  const sweep = (at = strict) => at.app.get(SendMfaRemindersJob, { strict: false }).run();
  const subjects = async (email: string) => (await strict.mails(email)).map(({ subject }) => subject);
  const OPENED = 'Please set up two-step sign-in';
  const ENDING = 'Two-step sign-in: a few days left';
  const notified = (email: string, subject: string) =>
    eventually(async () => {
      const mail = (await strict.mails(email)).find((candidate) => candidate.subject === subject);
      if (!mail) throw new Error(`no mail "${subject}"`);
      return mail;
    });
  const mailRows = async (email: string, template: string) => {
    const rows = await testApp.query('select 1 from mail where recipient = $1 and template = $2', [email, template]);
    return rows.length;
  };
  const change = (user: { bearer: string }, at = strict) =>
    at.patch('/orgs/partners/me', { name: 'Renamed MSP' }, user);

  describe('opens', () => {
    it('at a login and sends a mail with the deadline', async () => {
      const admin = await registerPartner(lax);
      expect((await windowOf(admin.userId)).granted).toBeNull();
      const first = expectStatus(await login(admin.email), 200);
      const { days, deadline } = await windowOf(admin.userId);
      expect(days).toBe(14);
      expect(first.body).toMatchObject({
        mfaEnrollmentRequired: false,
        mfaEnrollmentDeadline: deadline?.toISOString(),
      });
      const mail = await notified(admin.email, OPENED);
      expect(mail.text).toMatch(/before \d{1,2} \w+ \d{4} at \d\d:\d\d UTC;/);
      expectStatus(await login(admin.email), 200);
      expect(await mailRows(admin.email, 'mfa-grace-opened')).toBe(1);
    });

    it('at a refresh', async () => {
      const admin = await registerPartner(lax);
      const { service_refresh_token: refreshToken } = admin.cookies;
      expectStatus(await strict.post('/auth/refresh', { refreshToken }), 200);
      expect((await windowOf(admin.userId)).days).toBe(14);
      await notified(admin.email, OPENED);
    });

    it('at a mutating request and not at a GET', async () => {
      const admin = await registerPartner(lax);
      expectStatus(await strict.get('/orgs/partners/me', admin), 200);
      expectStatus(await strict.get('/users/me', admin), 200);
      expect((await windowOf(admin.userId)).granted).toBeNull();
      expectStatus(await change(admin), 200);
      const opened = await windowOf(admin.userId);
      expect(opened.days).toBe(14);
      expectStatus(await change(admin), 200);
      expect(await windowOf(admin.userId)).toEqual(opened);
      await notified(admin.email, OPENED);
    });

    it('once when several replicas receive requests concurrently', async () => {
      const admin = await registerPartner(lax);
      const calls = [strict, twin, strict, twin].flatMap((at) => [login(admin.email, at), change(admin, at)]);
      const responses = await Promise.all(calls);
      expect(responses.map(({ status }) => status)).toEqual(calls.map(() => 200));
      const { deadline } = await windowOf(admin.userId);
      const seen = responses.map(({ body }) => body.mfaEnrollmentDeadline as string | undefined).filter(Boolean);
      expect(new Set(seen)).toEqual(new Set([deadline?.toISOString()]));
      expect(await mailRows(admin.email, 'mfa-grace-opened')).toBe(1);
    });

    it('never when the partner sets zero days or the role does not require MFA', async () => {
      const admin = await registerPartner(lax);
      const viewer = await roleId(lax, admin.bearer, 'Partner Viewer');
      const member = await inviteAndAccept(lax, admin.bearer, { roleId: viewer });
      expect((await login(member.email)).body).toMatchObject({
        mfaEnrollmentRequired: false,
        mfaEnrollmentDeadline: null,
      });
      expect((await windowOf(member.userId)).granted).toBeNull();
      await setDays(admin.partnerId, 0);
      expect((await login(admin.email)).body.mfaEnrollmentRequired).toBe(true);
      expect((await windowOf(admin.userId)).granted).toBeNull();
    });
  });

  it('keeps sessions valid and responds to them with 428 after the end', async () => {
    const admin = await registerPartner(lax);
    const session = sessionOf(expectStatus(await login(admin.email), 200));
    expectStatus(await strict.get('/users', session), 200);
    await age(admin.userId, 15);
    const { service_refresh_token: refreshToken } = session.cookies;
    const renewed = expectStatus(await twin.post('/auth/refresh', { refreshToken }), 200);
    const bearer = renewed.body.tokens.accessToken as string;
    expect(await twin.get('/users', { bearer })).toMatchObject({
      status: 428,
      body: { code: 'mfa_enrollment_required', enrollUrl: '/auth/mfa/setup' },
    });
    expect(await change({ bearer }, twin)).toMatchObject({ status: 428 });
  });

  describe('end', () => {
    it('moves forward when the partner shortens the window and never back', async () => {
      const admin = await registerPartner(lax);
      await login(admin.email);
      await age(admin.userId, 5);
      await setDays(admin.partnerId, 7);
      const { granted } = await windowOf(admin.userId);
      const end = new Date((granted?.getTime() ?? 0) + 7 * 86_400_000).toISOString();
      expect((await login(admin.email)).body.mfaEnrollmentDeadline).toBe(end);
      await setDays(admin.partnerId, 30);
      const { deadline } = await windowOf(admin.userId);
      expect((await login(admin.email)).body.mfaEnrollmentDeadline).toBe(deadline?.toISOString());
      await setDays(admin.partnerId, 3);
      expect((await login(admin.email)).body.mfaEnrollmentRequired).toBe(true);
    });

    it('is computed for each partner from the one window of the user', async () => {
      const admin = await registerPartner(lax);
      const second = await registerPartner(lax);
      await setDays(admin.partnerId, 30);
      await login(admin.email);
      expect((await windowOf(admin.userId)).days).toBe(30);
      await testApp.query(
        `insert into partner_membership (partner_id, user_id, role_id)
         select partner_id, $2, role_id from partner_membership where user_id = $1`,
        [second.userId, admin.userId],
      );
      await age(admin.userId, 20);
      const here = sessionOf(expectStatus(await login(admin.email), 200));
      expectStatus(await change(here), 200);
      const there = expectStatus(await strict.post('/auth/switch', { partnerId: second.partnerId }, here), 200);
      expect((await change(sessionOf(there))).status).toBe(428);
      expect((await windowOf(admin.userId)).days).toBe(30);
    });
  });

  describe('is not renewed', () => {
    let admin: TestUser;
    let before: Window;

    beforeEach(async () => {
      admin = await registerPartner(lax);
      await login(admin.email);
      await age(admin.userId, 15);
      before = await windowOf(admin.userId);
    });
    afterEach(async () => {
      expect(await windowOf(admin.userId)).toEqual(before);
      expect((await login(admin.email)).body.mfaEnrollmentRequired).toBe(true);
      expect(await mailRows(admin.email, 'mfa-grace-opened')).toBe(1);
    });

    it('by signing in again', async () => {
      expect((await login(admin.email)).body.mfaEnrollmentRequired).toBe(true);
    });

    it('by switching the variable off and on', async () => {
      expect((await login(admin.email, lax)).body).toMatchObject({
        mfaEnrollmentRequired: false,
        mfaEnrollmentDeadline: null,
      });
    });

    it('by a role that does not require MFA, and back', async () => {
      const set = (role: string) =>
        testApp.query(`update partner_membership set role_id = $2 where user_id = $1`, [admin.userId, role]);
      const [{ id }] = await testApp.query<{ id: string }>(
        'select role_id as id from partner_membership where user_id = $1',
        [admin.userId],
      );
      await set(await roleId(lax, admin.bearer, 'Partner Viewer'));
      expect((await login(admin.email)).body.mfaEnrollmentRequired).toBe(false);
      await set(id);
    });

    it('by more days of the partner or by another partner', async () => {
      await setDays(admin.partnerId, 30);
      const second = await registerPartner(lax);
      await testApp.query(
        `insert into partner_membership (partner_id, user_id, role_id)
         select partner_id, $2, role_id from partner_membership where user_id = $1`,
        [second.userId, admin.userId],
      );
      await setDays(second.partnerId, 30);
    });
  });

  it('does not open for users who had a factor', async () => {
    const admin = await registerPartner(lax);
    const { bearer, cookies, secret } = await enrollTotp(lax, admin.bearer);
    const body = { currentPassword: PASSWORD, code: totpCode(secret) };
    expectStatus(await lax.post('/auth/mfa/disable', body, { bearer, cookies }), 200);
    expect((await login(admin.email)).body).toMatchObject({ mfaEnrollmentRequired: true, mfaEnrollmentDeadline: null });
    expect((await windowOf(admin.userId)).granted).toBeNull();
  });

  it('does not let a user disable the factor of a role that requires MFA', async () => {
    const admin = await registerPartner(lax);
    const { bearer, cookies, secret } = await enrollTotp(lax, admin.bearer);
    const body = { currentPassword: PASSWORD, code: totpCode(secret) };
    const refused = await strict.post('/auth/mfa/disable', body, { bearer, cookies });
    expect(refused).toMatchObject({ status: 403, body: { code: 'mfa_required_by_policy' } });
  });

  describe('second reminder', () => {
    it('is sent once by several replicas', async () => {
      const admin = await registerPartner(lax);
      await login(admin.email);
      await age(admin.userId, 10);
      await sweep();
      expect(await mailRows(admin.email, 'mfa-grace-ending')).toBe(0);
      await age(admin.userId, 1);
      await Promise.all([sweep(strict), sweep(twin), sweep(strict), sweep(twin)]);
      await sweep();
      expect(await mailRows(admin.email, 'mfa-grace-ending')).toBe(1);
      expect((await notified(admin.email, ENDING)).text).toMatch(/before \d{1,2} \w+ \d{4} at \d\d:\d\d UTC;/);
    });

    it('is sent to others when that of a user fails', async () => {
      const users = [await registerPartner(lax), await registerPartner(lax)];
      for (const { email } of users) await login(email);
      for (const { userId } of users) await age(userId, 11);
      const [first, second] = users.sort((a, b) => (a.userId < b.userId ? -1 : 1)); // in their order
      const repository = strict.app.get(MfaRepository, { strict: false });
      const claimReminder = repository.claimReminder.bind(repository);
      const claims = jest
        .spyOn(repository, 'claimReminder')
        .mockImplementation((tx, userId) =>
          userId === first.userId ? Promise.reject(new Error('unexpected')) : claimReminder(tx, userId),
        );
      await sweep();
      claims.mockRestore();
      expect(await mailRows(first.email, 'mfa-grace-ending')).toBe(0);
      expect(await mailRows(second.email, 'mfa-grace-ending')).toBe(1);
      await sweep();
      expect(await mailRows(first.email, 'mfa-grace-ending')).toBe(1);
    });

    it('is sent before the earlier end when the partner shortened the window', async () => {
      const admin = await registerPartner(lax);
      await login(admin.email);
      await age(admin.userId, 3);
      await setDays(admin.partnerId, 5);
      await sweep();
      expect(await mailRows(admin.email, 'mfa-grace-ending')).toBe(1);
    });

    it('is not sent after enrollment, without a requirement or for a short window', async () => {
      const users = await Promise.all([1, 2, 3].map(() => registerPartner(lax)));
      const [enrolled, moved, short] = users;
      await setDays(short.partnerId, 2);
      for (const { email } of users) await login(email);
      await enrollTotp(lax, enrolled.bearer);
      await testApp.query(`update partner_membership set role_id = $2 where user_id = $1`, [
        moved.userId,
        await roleId(lax, moved.bearer, 'Partner Viewer'),
      ]);
      for (const { userId } of [enrolled, moved]) await age(userId, 12);
      await sweep();
      for (const { email } of users) expect(await mailRows(email, 'mfa-grace-ending')).toBe(0);
      await notified(short.email, OPENED);
      expect(await subjects(short.email)).not.toContain(ENDING);
    });
  });

  it('opens at a mutating request to another service', async () => {
    const admin = await registerPartner(lax);
    const [, payload = ''] = admin.bearer.split('.');
    const { sid } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sid: string };
    const { userId, partnerId } = admin;
    const session = { userId, sessionId: sid, scope: 'partner', partnerId, orgId: null } as const;
    const connection = await connect(natsOptions(testApp.nats.adminUrl, 'mfa-grace-spec'));
    try {
      const ask = async (request: AccessResolveRequest) => {
        const { subject } = IDENTITY_ACCESS_RESOLVE;
        const reply = await connection.request(subject, JSON.stringify(request), { timeout: 5_000 });
        return reply.json<{ value: AccessSnapshot }>().value;
      };
      await lax.stop(); // it would response too, by its own switch
      expect(await ask(session)).toMatchObject({ mfaGraceDue: true, mfaEnrollmentRequired: false });
      expect((await windowOf(userId)).granted).toBeNull();
      expect(await ask({ ...session, opensMfaGrace: true })).toMatchObject({ mfaGraceDue: false });
      expect((await windowOf(userId)).days).toBe(14);
    } finally {
      await connection.close();
    }
  });
});
