import { IDENTITY_ACCESS_RESOLVE, type AccessResolveRequest, type AccessSnapshot } from '@rmm/contracts';
import { natsOptions } from '@rmm/messaging';
import { eventually } from '@rmm/testing-services';
import { connect } from 'nats';
import {
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, sessionOf, type TestUser } from '../../test/users.js';
import { MfaReminders } from './mfa-reminders.js';

interface Window {
  granted: Date | null;
  deadline: Date | null;
  days: number | null;
}

describe('the enrollment window', () => {
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
  const sweep = (at = strict) => at.app.get(MfaReminders, { strict: false }).run();
  const subjects = async (email: string) => (await strict.mails(email)).map(({ subject }) => subject);
  const OPENED = 'Please set up two-step sign-in';
  const ENDING = 'Two-step sign-in: a few days left';
  const told = (email: string, subject: string) =>
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

  describe('opens once, when somebody is first met', () => {
    it('by a login, with a mail that says until when', async () => {
      const admin = await registerPartner(lax);
      expect((await windowOf(admin.userId)).granted).toBeNull();
      const first = expectStatus(await login(admin.email), 200);
      const { days, deadline } = await windowOf(admin.userId);
      expect(days).toBe(14);
      expect(first.body).toMatchObject({
        mfaEnrollmentRequired: false,
        mfaEnrollmentDeadline: deadline?.toISOString(),
      });
      const mail = await told(admin.email, OPENED);
      expect(mail.text).toMatch(/before \d{1,2} \w+ \d{4} at \d\d:\d\d UTC;/);
      expectStatus(await login(admin.email), 200);
      expect(await mailRows(admin.email, 'mfa-grace-opened')).toBe(1);
    }, 30_000);

    it('by a refresh', async () => {
      const admin = await registerPartner(lax);
      const { service_refresh_token: refreshToken } = admin.cookies;
      expectStatus(await strict.post('/auth/refresh', { refreshToken }), 200);
      expect((await windowOf(admin.userId)).days).toBe(14);
      await told(admin.email, OPENED);
    }, 30_000);

    it('by a mutating request, never by a GET', async () => {
      const admin = await registerPartner(lax);
      expectStatus(await strict.get('/orgs/partners/me', admin), 200);
      expectStatus(await strict.get('/users/me', admin), 200);
      expect((await windowOf(admin.userId)).granted).toBeNull();
      expectStatus(await change(admin), 200);
      const opened = await windowOf(admin.userId);
      expect(opened.days).toBe(14);
      expectStatus(await change(admin), 200);
      expect(await windowOf(admin.userId)).toEqual(opened);
      await told(admin.email, OPENED);
    }, 30_000);

    it('once, however many replicas meet the user at the same moment', async () => {
      const admin = await registerPartner(lax);
      const calls = [strict, twin, strict, twin].flatMap((at) => [login(admin.email, at), change(admin, at)]);
      const answers = await Promise.all(calls);
      expect(answers.map(({ status }) => status)).toEqual(calls.map(() => 200));
      const { deadline } = await windowOf(admin.userId);
      const seen = answers.map(({ body }) => body.mfaEnrollmentDeadline as string | undefined).filter(Boolean);
      expect(new Set(seen)).toEqual(new Set([deadline?.toISOString()]));
      expect(await mailRows(admin.email, 'mfa-grace-opened')).toBe(1);
    }, 30_000);

    it('not at all where the partner gives no days, nor for roles without the flag', async () => {
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
    }, 30_000);
  });

  it('leaves sessions made inside it standing, and answers them 428 after the end', async () => {
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
  }, 30_000);

  describe('ends at the earlier of its deadline and the partner’s present days', () => {
    it('sooner when the partner shortens it, never later', async () => {
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
    }, 30_000);

    it('for each of several partners by its own days, the window being the user’s one', async () => {
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
    }, 30_000);
  });

  describe('is never renewed', () => {
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
    }, 30_000);

    it('by turning the variable off and on', async () => {
      expect((await login(admin.email, lax)).body).toMatchObject({
        mfaEnrollmentRequired: false,
        mfaEnrollmentDeadline: null,
      });
    }, 30_000);

    it('by a role that does not ask, and back', async () => {
      const set = (role: string) =>
        testApp.query(`update partner_membership set role_id = $2 where user_id = $1`, [admin.userId, role]);
      const [{ id }] = await testApp.query<{ id: string }>(
        'select role_id as id from partner_membership where user_id = $1',
        [admin.userId],
      );
      await set(await roleId(lax, admin.bearer, 'Partner Viewer'));
      expect((await login(admin.email)).body.mfaEnrollmentRequired).toBe(false);
      await set(id);
    }, 30_000);

    it('by more days of the partner, nor by another partner', async () => {
      await setDays(admin.partnerId, 30);
      const second = await registerPartner(lax);
      await testApp.query(
        `insert into partner_membership (partner_id, user_id, role_id)
         select partner_id, $2, role_id from partner_membership where user_id = $1`,
        [second.userId, admin.userId],
      );
      await setDays(second.partnerId, 30);
    }, 30_000);
  });

  it('is not given to whoever held a factor once', async () => {
    const admin = await registerPartner(lax);
    const { bearer, cookies, secret } = await enrollTotp(lax, admin.bearer);
    const body = { currentPassword: PASSWORD, code: totpCode(secret) };
    expectStatus(await lax.post('/auth/mfa/disable', body, { bearer, cookies }), 200);
    expect((await login(admin.email)).body).toMatchObject({ mfaEnrollmentRequired: true, mfaEnrollmentDeadline: null });
    expect((await windowOf(admin.userId)).granted).toBeNull();
  }, 30_000);

  it('keeps the factor of a forced role from being given up', async () => {
    const admin = await registerPartner(lax);
    const { bearer, cookies, secret } = await enrollTotp(lax, admin.bearer);
    const body = { currentPassword: PASSWORD, code: totpCode(secret) };
    const refused = await strict.post('/auth/mfa/disable', body, { bearer, cookies });
    expect(refused).toMatchObject({ status: 403, body: { code: 'mfa_required_by_policy' } });
  }, 30_000);

  describe('reminds a second time three days before its end', () => {
    it('once, whichever replica looks', async () => {
      const admin = await registerPartner(lax);
      await login(admin.email);
      await age(admin.userId, 10);
      await sweep();
      expect(await mailRows(admin.email, 'mfa-grace-ending')).toBe(0);
      await age(admin.userId, 1);
      await Promise.all([sweep(strict), sweep(twin), sweep(strict), sweep(twin)]);
      await sweep();
      expect(await mailRows(admin.email, 'mfa-grace-ending')).toBe(1);
      expect((await told(admin.email, ENDING)).text).toMatch(/before \d{1,2} \w+ \d{4} at \d\d:\d\d UTC;/);
    }, 30_000);

    it('at the earlier end, when the partner shortened the window', async () => {
      const admin = await registerPartner(lax);
      await login(admin.email);
      await age(admin.userId, 3);
      await setDays(admin.partnerId, 5);
      await sweep();
      expect(await mailRows(admin.email, 'mfa-grace-ending')).toBe(1);
    }, 30_000);

    it('not those who enrolled, are no longer asked, or whose window was short from the start', async () => {
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
      await told(short.email, OPENED);
      expect(await subjects(short.email)).not.toContain(ENDING);
    }, 30_000);
  });

  it('opens by a mutating request to another service, which asks by RPC', async () => {
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
      await lax.stop(); // it would answer too, by its own switch
      expect(await ask(session)).toMatchObject({ mfaGraceDue: true, mfaEnrollmentRequired: false });
      expect((await windowOf(userId)).granted).toBeNull();
      expect(await ask({ ...session, opensMfaGrace: true })).toMatchObject({ mfaGraceDue: false });
      expect((await windowOf(userId)).days).toBe(14);
    } finally {
      await connection.close();
    }
  }, 30_000);
});
