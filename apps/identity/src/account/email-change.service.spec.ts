import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type IdentityReplica,
  withStatus,
} from '../../test/identity-test-app.js';
import { enrollTotp, registerPartner, roleId, sessionOf, type TestUser } from '../../test/users.js';

describe('a change of the e-mail address', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
  }, 120_000);
  afterAll(() => testApp.stop());

  /** Signed in with the password just now. */
  const freshlySignedIn = async (): Promise<TestUser> => {
    const partner = await registerPartner(identity);
    const login = await identity.post('/auth/login', { email: partner.email, password: PASSWORD });
    return { ...partner, ...sessionOf(expectStatus(login, 200)) };
  };
  const ask = ({ bearer }: { bearer: string }, email: string, proofs: object = {}) =>
    identity.patch('/users/me', { email, ...proofs }, { bearer });
  const verify = (token: string) => identity.post('/auth/verify-email', { token });
  const ageProofs = (userId: string) =>
    testApp.query(
      `update session_family set password_proof_at = password_proof_at - interval '10 minutes',
         factor_proof_at = factor_proof_at - interval '10 minutes' where user_id = $1`,
      [userId],
    );
  const account = async (userId: string) => {
    const [row] = await testApp.query<{ email: string; pending: string | null; aep: number; mep: number }>(
      `select email, pending_email as pending, auth_epoch as aep, mfa_epoch as mep from user_account where id = $1`,
      [userId],
    );
    return row;
  };

  it('takes effect by the link mailed to the new address and ends every session', async () => {
    const user = await freshlySignedIn();
    const email = freshEmail('new');
    const profile = (await identity.get('/users/me', user)).body;
    const asked = expectStatus(await ask(user, ` ${email.toUpperCase()} `), 200);
    expect(asked.body).toEqual({
      ...profile,
      pendingEmail: email,
      pendingEmailRequestedAt: expect.stringMatching(/Z$/),
      verificationSent: true,
    });
    expect((await identity.get('/users/me', user)).body).toEqual(profile);
    const notice = await eventually(async () => {
      const [mail] = await identity.mails(user.email);
      if (mail?.subject !== 'A new e-mail address was requested') throw new Error('no notice yet');
      return mail;
    });
    expect(notice.text).toContain(email);
    expect(notice.text).not.toContain('token=');

    const token = await identity.mailedToken(email);
    const before = await account(user.userId);
    const clicks = await Promise.all([verify(token), verify(token)]);
    expect(withStatus(clicks, 200).body).toEqual({ verified: true, purpose: 'email_change', email });
    expect(withStatus(clicks, 400).body.code).toBe('verification_invalid');
    expect((await verify(token)).body.code).toBe('verification_invalid');
    expect(await account(user.userId)).toEqual({
      email,
      pending: null,
      aep: (before?.aep ?? 0) + 1,
      mep: (before?.mep ?? 0) + 1,
    });
    expect((await identity.get('/users/me', user)).status).toBe(401);
    const headers = { 'x-service-csrf': user.cookies.service_csrf_token ?? '' };
    expect((await identity.post('/auth/refresh', undefined, { ...user, headers })).status).toBe(401);
    expect((await identity.post('/auth/login', { email: user.email, password: PASSWORD })).status).toBe(401);
    expectStatus(await identity.post('/auth/login', { email, password: PASSWORD }), 200);
    await eventually(async () => {
      const [mail] = await identity.mails(user.email);
      expect(mail?.subject).toBe('The e-mail address of your account was changed');
      const rows = await testApp.query<{ action: string; details: object }>(
        `select action, details from audit_entry where resource_id = $1 and action like '%email.change%' order by timestamp, sequence`,
        [user.userId],
      );
      expect(rows).toEqual([
        { action: 'user.email.change.requested', details: { newEmail: email } },
        { action: 'auth.email.change.committed', details: { newEmail: email, oldEmail: user.email } },
      ]);
    });
  });

  it('requires the password when the last proof is older than ten minutes', async () => {
    const user = await freshlySignedIn();
    await ageProofs(user.userId);
    const absent = await ask(user, freshEmail());
    expect(absent).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect(absent.body.details.fieldErrors).toHaveProperty('currentPassword');
    const wrong = await ask(user, freshEmail(), { currentPassword: 'wrong', name: 'Not Stored' });
    expect(wrong).toMatchObject({ status: 400, body: { code: 'invalid_credentials' } });
    expect((await account(user.userId))?.pending).toBeNull();
    expect((await identity.get('/users/me', user)).body.name).toBe('Pat Morgan');
    const right = expectStatus(await ask(user, freshEmail(), { currentPassword: PASSWORD, name: 'Pat Stored' }), 200);
    expect(right.body).toMatchObject({ name: 'Pat Stored', verificationSent: true });
    await eventually(async () => {
      const rows = await testApp.query(
        `select 1 from audit_entry where resource_id = $1 and action = 'user.email.change.requested'
         and result = 'denied' and details ->> 'reason' = 'wrong_password'`,
        [user.userId],
      );
      expect(rows).toHaveLength(1);
    });
  });

  it('requires a single-use step-up grant of its own operation when a factor is enrolled', async () => {
    const user = await freshlySignedIn();
    const { secret, bearer } = await enrollTotp(identity, user.bearer);
    expectStatus(await ask({ bearer }, freshEmail()), 200); // both proofs are recent
    await ageProofs(user.userId);
    const currentPassword = PASSWORD;
    const email = freshEmail('granted');
    expect(await ask({ bearer }, email, { currentPassword })).toMatchObject({
      status: 403,
      body: { code: 'existing_factor_step_up_required', stepUpUrl: '/auth/mfa/step-up' },
    });
    const grantFor = async (operation: string, steps: number) =>
      expectStatus(
        await identity.post(
          '/auth/mfa/step-up',
          { method: 'totp', operation, code: totpCode(secret, steps) },
          { bearer },
        ),
        200,
      ).body.stepUpGrantId as string;
    const otherGrant = await grantFor('add_factor', 0);
    expect((await ask({ bearer }, email, { currentPassword, stepUpGrantId: otherGrant })).status).toBe(403);
    const stepUpGrantId = await grantFor('change_email', 1);
    expect((await ask({ bearer }, email, { currentPassword: 'wrong', stepUpGrantId })).status).toBe(400);
    const responses = await Promise.all([1, 2].map(() => ask({ bearer }, email, { currentPassword, stepUpGrantId })));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 403]);
  });

  it('is refused to a user without a password', async () => {
    const user = await freshlySignedIn();
    await testApp.query('update user_account set password_hash = null where id = $1', [user.userId]);
    for (const proofs of [{}, { currentPassword: PASSWORD }, { ssoReauthGrantId: 'created-up' }]) {
      const refused = await ask(user, freshEmail(), proofs);
      expect(refused).toMatchObject({ status: 400, body: { code: 'enrollment_grant_expired' } });
    }
  });

  it('returns the same response for an address that another user has, who keeps it', async () => {
    const owner = await registerPartner(identity);
    const user = await freshlySignedIn();
    const free = expectStatus(await ask(user, freshEmail()), 200);
    const taken = expectStatus(await ask(user, owner.email), 200);
    expect(Object.keys(taken.body as object)).toEqual(Object.keys(free.body as object));
    const token = await identity.mailedToken(owner.email, 2);
    expect(await verify(token)).toMatchObject({ status: 400, body: { code: 'verification_invalid' } });
    expect((await account(user.userId))?.email).toBe(user.email);
    expect((await identity.get('/users/me', user)).status).toBe(200);
  });

  it('gives an address that two users request to the first who confirms it', async () => {
    const email = freshEmail('wanted');
    const users = [await freshlySignedIn(), await freshlySignedIn()];
    const tokens: string[] = [];
    for (const [index, user] of users.entries()) {
      expectStatus(await ask(user, email), 200);
      tokens.push(await identity.mailedToken(email, index + 1));
    }
    const responses = await Promise.all(tokens.map(verify));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400]);
    const loser = users[responses.findIndex(({ status }) => status === 400)];
    expect(await account(loser?.userId ?? '')).toMatchObject({ email: loser?.email, pending: email });
    expect((await identity.get('/users/me', loser)).status).toBe(200);
  });

  it('invalidates older links with each new request, and all links with a change of the password', async () => {
    const user = await freshlySignedIn();
    const [first, second] = [freshEmail('first'), freshEmail('second')];
    expectStatus(await ask(user, first), 200);
    const old = await identity.mailedToken(first);
    expectStatus(await ask(user, second), 200);
    const newest = await identity.mailedToken(second);
    expect((await verify(old)).body.code).toBe('verification_invalid');
    const change = { currentPassword: PASSWORD, newPassword: 'another-horse-battery-8' };
    expectStatus(await identity.post('/auth/change-password', change, user), 200);
    expect((await verify(newest)).body.code).toBe('verification_invalid');
    expect((await account(user.userId))?.email).toBe(user.email);
  });

  it('cannot be confirmed after an hour or for a disabled user', async () => {
    const user = await freshlySignedIn();
    const email = freshEmail();
    expectStatus(await ask(user, email), 200);
    const token = await identity.mailedToken(email);
    await testApp.query(`update user_account set status = 'disabled' where id = $1`, [user.userId]);
    expect((await verify(token)).body.code).toBe('verification_invalid');
    await testApp.query(`update user_account set status = 'active' where id = $1`, [user.userId]);
    await testApp.query(`update link_token set expires_at = now() where user_id = $1`, [user.userId]);
    expect((await verify(token)).body.code).toBe('verification_invalid');
    await testApp.query(`update link_token set expires_at = now() + interval '1 hour' where user_id = $1`, [
      user.userId,
    ]);
    expectStatus(await verify(token), 200);
  });

  it('accepts only links of its own kind, which are accepted nowhere else', async () => {
    const user = await freshlySignedIn();
    const email = freshEmail();
    expectStatus(await ask(user, email), 200);
    const token = await identity.mailedToken(email);
    const invited = freshEmail();
    const role = await roleId(identity, user.bearer, 'Partner Viewer');
    const invite = { email: invited, name: 'Robin', roleId: role };
    expectStatus(await identity.post('/users/invite', invite, user), 201);
    const invitation = await identity.mailedToken(invited);
    expect((await verify(invitation)).body.code).toBe('verification_invalid');
    const accepted = await identity.post('/auth/accept-invite', { token, password: PASSWORD });
    expect(accepted).toMatchObject({ status: 400, body: { code: 'invite_invalid' } });
    expect((await identity.get('/users/me', { bearer: token })).status).toBe(401);
    expectStatus(await verify(token), 200);
    expectStatus(await identity.post('/auth/accept-invite', { token: invitation, password: PASSWORD }), 200);
  });

  it('invalidates logins that wait for their second step', async () => {
    const user = await freshlySignedIn();
    const { secret, bearer } = await enrollTotp(identity, user.bearer);
    const email = freshEmail();
    expectStatus(await ask({ bearer }, email), 200);
    const { tempToken } = (await identity.post('/auth/login', { email: user.email, password: PASSWORD })).body;
    expectStatus(await verify(await identity.mailedToken(email)), 200);
    const late = await identity.post('/auth/mfa/verify', { code: totpCode(secret), tempToken });
    expect(late).toMatchObject({ status: 401, body: { code: 'mfa_session_invalid' } });
  });

  it('requires no factor when MFA is disabled', async () => {
    const user = await freshlySignedIn();
    const { bearer } = await enrollTotp(identity, user.bearer);
    await ageProofs(user.userId);
    const without = await testApp.startReplica({ ENABLE_2FA: 'false' });
    const body = { email: freshEmail(), currentPassword: PASSWORD };
    expectStatus(await without.patch('/users/me', body, { bearer }), 200);
  });

  it('limits the rate of requests', async () => {
    const user = await freshlySignedIn();
    const victim = freshEmail('victim');
    const responses = await Promise.all(Array.from({ length: 7 }, () => ask(user, victim)));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(withStatus(responses, 429).body.code).toBe('rate_limited');
  });
});
