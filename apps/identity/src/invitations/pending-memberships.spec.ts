import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  freshAddress,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { totpCode, type TestResponse } from '../../test/identity-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, sessionOf, type TestUser } from '../../test/users.js';

const codeOf = ({ status, body }: TestResponse) => (status < 300 ? status : (body.code as string));

let testApp: IdentityTestApp;
let identity: IdentityReplica;

beforeAll(async () => {
  testApp = await IdentityTestApp.start();
  identity = await testApp.startReplica();
}, 120_000);
afterAll(() => testApp.stop());

describe('an invitation of an existing account', () => {
  let host: TestUser;
  let viewer: string;

  beforeAll(async () => {
    host = await registerPartner(identity, 'Inviting MSP');
    viewer = await roleId(identity, host.bearer, 'Partner Viewer');
  });

  const setSecurity = (partnerId: string, security: object) =>
    testApp.query(`UPDATE partner SET settings = jsonb_build_object('security', $2::jsonb) WHERE id = $1`, [
      partnerId,
      JSON.stringify(security),
    ]);
  const invite = async (user: TestUser, count = 2) => {
    const body = { email: user.email, name: 'Ada Example', roleId: viewer };
    const invited = expectStatus(await identity.post('/users/invite', body, host), 201);
    return { body: invited.body, token: await identity.mailedToken(user.email, count) };
  };
  const login = (email: string, more: object = {}) =>
    identity.post('/auth/login', { email, password: PASSWORD, ...more });
  const me = async (user: { bearer: string }) => expectStatus(await identity.get('/auth/me', user), 200).body;
  const accept = (token: string, more: object = {}, options = {}) =>
    identity.post('/auth/accept-invite', { token, ...more }, options);

  it('counts for nothing before it is accepted', async () => {
    const victim = await registerPartner(identity, 'Victim MSP');
    const stranger = await registerPartner(identity, 'Stranger MSP');
    const theirs = await roleId(identity, stranger.bearer, 'Partner Viewer');
    const body = { email: victim.email, name: 'Ada Example', roleId: theirs };
    const invited = expectStatus(await identity.post('/users/invite', body, stranger), 201).body;
    expect(invited).toMatchObject({ name: 'Ada Example', status: 'active', membershipStatus: 'pending' });
    await setSecurity(stranger.partnerId, {
      ipAllowlist: ['198.51.100.1/32'],
      passwordMinLength: 64,
      requireMfa: true,
      sessionLifetimeHours: 1,
    });

    // Login, and the audit trail of wrong passwords, stay with the user's own tenant.
    expect((await identity.post('/auth/login', { email: victim.email, password: 'wrong-horse' })).status).toBe(401);
    const session = sessionOf(expectStatus(await login(victim.email), 200));
    expect((await me(session)).memberships).toEqual([expect.objectContaining({ partnerId: victim.partnerId })]);
    expect((await me(session)).pendingMemberships).toEqual([
      expect.objectContaining({ partnerId: stranger.partnerId, partnerName: 'Stranger MSP', scope: 'partner' }),
    ]);
    expectStatus(await identity.get('/users', session), 200);
    const denied = await identity.post('/auth/switch', { partnerId: stranger.partnerId }, session);
    expect(codeOf(denied)).toBe('not_found');
    await eventually(async () => {
      const rows = await testApp.query<{ partner: string }>(
        `SELECT DISTINCT partner_id AS partner FROM audit_entry
         WHERE actor_id = $1 AND action IN ('user.login.failed', 'user.login')`,
        [victim.userId],
      );
      expect(rows).toEqual([{ partner: victim.partnerId }]);
    });

    // Nor does the other tenant see or end anything.
    const list = expectStatus(await identity.get('/users', stranger), 200);
    expect((list.body.data as { id: string }[]).map(({ id }) => id)).toEqual([stranger.userId]);
    expect(codeOf(await identity.get(`/users/${victim.userId}`, stranger))).toBe('not_found');
    expect(codeOf(await identity.delete(`/users/${victim.userId}`, stranger))).toBe('not_found');
    expectStatus(await identity.get('/users/me', session), 200);
    const passwords = { currentPassword: PASSWORD, newPassword: 'violet umbrella tango' };
    expectStatus(await identity.post('/auth/change-password', passwords, session), 200);
  });

  it('is accepted with a bearer token of the same user, whose session continues there', async () => {
    const user = await registerPartner(identity, 'Own MSP');
    const { token } = await invite(user);
    const other = await registerPartner(identity);
    expect(codeOf(await accept(token, {}, other))).toBe('invite_invalid');
    expect(codeOf(await accept(token, {}, { bearer: 'dead' }))).toBe('unauthenticated');
    const accepted = expectStatus(await accept(token, {}, user), 200);
    expect(accepted.body).toMatchObject({ mfaRequired: false, user: { id: user.userId } });
    const memberships = (await me(sessionOf(accepted))).memberships as { partnerId: string; current: boolean }[];
    expect(memberships.find(({ current }) => current)?.partnerId).toBe(host.partnerId);
    expect(memberships).toHaveLength(2);
    expect((await identity.get('/users/me', user)).status).toBe(401);
    expect(codeOf(await accept(token, {}, sessionOf(accepted)))).toBe('invite_invalid');
    expect(codeOf(await identity.post('/auth/invite/preview', { token }))).toBe('invite_accepted');
  });

  it("is accepted with the account's own password, and with no other", async () => {
    const user = await registerPartner(identity, 'Own MSP');
    const { token } = await invite(user);
    expect(codeOf(await accept(token))).toBe('validation_failed');
    expect(codeOf(await accept(token, { password: 'a-new-horse-battery-3' }))).toBe('login_failed');
    const accepted = sessionOf(expectStatus(await accept(token, { password: PASSWORD }), 200));
    expect((await me(accepted)).memberships).toHaveLength(2);
    expect((await login(user.email)).status).toBe(200);
  });

  it('needs the factor of the account, with which the membership begins to count', async () => {
    const user = await registerPartner(identity, 'Own MSP');
    const { secret, bearer } = await enrollTotp(identity, user.bearer);
    const { token } = await invite(user);
    const challenge = expectStatus(await accept(token, { password: PASSWORD }), 200);
    expect(challenge.body).toMatchObject({ mfaRequired: true, tokens: null });
    expect(challenge.headers['set-cookie']).toBeUndefined();
    expect((await me({ bearer })).memberships).toHaveLength(1);
    const { tempToken } = challenge.body;
    const verified = await identity.post('/auth/mfa/verify', { tempToken, code: totpCode(secret) });
    const session = sessionOf(expectStatus(verified, 200));
    expect((await me(session)).memberships).toContainEqual(
      expect.objectContaining({ partnerId: host.partnerId, current: true }),
    );
  });

  it('is no way around a factor after the account was set back to invited', async () => {
    const user = await inviteAndAccept(identity, host.bearer, { roleId: viewer });
    const { secret } = await enrollTotp(identity, user.bearer);
    await testApp.query(`UPDATE user_account SET status = 'invited' WHERE id = $1`, [user.userId]);
    expectStatus(await identity.post('/users/resend-invite', { userId: user.userId }, host), 200);
    const token = await identity.mailedToken(user.email, 2);
    const challenge = expectStatus(await accept(token, { password: 'another-horse-battery-8' }), 200);
    expect(challenge.body).toMatchObject({ mfaRequired: true, tokens: null });
    const { tempToken } = challenge.body;
    const verified = await identity.post('/auth/mfa/verify', { tempToken, code: totpCode(secret) });
    expect((await me(sessionOf(expectStatus(verified, 200)))).memberships).toHaveLength(1);
  });

  it('is accepted by one of 20 parallel calls', async () => {
    const user = await registerPartner(identity, 'Own MSP');
    const { token } = await invite(user);
    const calls = Array.from({ length: 20 }, () => accept(token, { password: PASSWORD }));
    const codes = (await Promise.all(calls)).map(codeOf);
    expect(codes.filter((code) => code === 200)).toHaveLength(1);
    const rows = await testApp.query('SELECT 1 FROM partner_membership WHERE user_id = $1 AND partner_id = $2', [
      user.userId,
      host.partnerId,
    ]);
    expect(rows).toHaveLength(1);
  });

  it('is declined by its user, and withdrawn by its tenant', async () => {
    const user = await registerPartner(identity, 'Own MSP');
    const { token } = await invite(user);
    const leaveTenant = () => identity.post('/auth/leave', { partnerId: host.partnerId }, user);
    expect((await leaveTenant()).body).toEqual({ success: true });
    expect(codeOf(await leaveTenant())).toBe('not_found');
    expect(codeOf(await accept(token, {}, user))).toBe('invite_invalid');

    const again = await invite(user, 3);
    const listed = expectStatus(await identity.get('/users/invitations?limit=100', host), 200);
    expect((listed.body.data as { id: string }[]).find(({ id }) => id === user.userId)).toEqual({
      id: user.userId,
      email: user.email,
      name: 'Ada Example',
      roleId: viewer,
      invitedBy: host.userId,
      createdAt: expect.any(String),
      expiresAt: expect.any(String),
    });
    const stranger = await registerPartner(identity);
    const path = `/users/invitations/${user.userId}`;
    expect(codeOf(await identity.delete(path, stranger))).toBe('not_found');
    expect((await identity.delete(path, host)).body).toEqual({ success: true });
    expect(codeOf(await identity.delete(path, host))).toBe('not_found');
    expect(codeOf(await accept(again.token, {}, user))).toBe('invite_invalid');
    expectStatus(await identity.get('/users/me', user), 200);
  });

  it('applies the address list of the tenant from then on only, and only where it is entered', async () => {
    const user = await registerPartner(identity, 'Own MSP');
    const strict = await registerPartner(identity, 'Strict MSP');
    const role = await roleId(identity, strict.bearer, 'Partner Viewer');
    const from = freshAddress();
    const body = { email: user.email, name: 'Ada Example', roleId: role };
    expectStatus(await identity.post('/users/invite', body, strict), 201);
    const token = await identity.mailedToken(user.email, 2);
    await setSecurity(strict.partnerId, { ipAllowlist: [`${from}/32`] });
    expect(codeOf(await accept(token, { password: PASSWORD }))).toBe('ip_not_allowed');
    expectStatus(await accept(token, { password: PASSWORD }, { from }), 200);

    // Entered last: the default of the next login. The other membership is named.
    expect(codeOf(await login(user.email))).toBe('ip_not_allowed');
    const own = sessionOf(expectStatus(await login(user.email, { partnerId: user.partnerId }), 200));
    expect(codeOf(await login(user.email, { partnerId: host.partnerId }))).toBe('login_failed');
    expect(codeOf(await login(user.email, { partnerId: user.partnerId, orgId: user.partnerId }))).toBe(
      'validation_failed',
    );
    expect(codeOf(await identity.post('/auth/switch', { partnerId: strict.partnerId }, own))).toBe('ip_not_allowed');
    expectStatus(await identity.get('/users/me', own), 200);
    const next = sessionOf(expectStatus(await login(user.email), 200));
    expect((await me(next)).memberships).toContainEqual(
      expect.objectContaining({ partnerId: user.partnerId, current: true }),
    );
  });
});

describe('mails of invitations', () => {
  let host: TestUser;
  let viewer: string;

  beforeAll(async () => {
    host = await registerPartner(identity);
    viewer = await roleId(identity, host.bearer, 'Partner Viewer');
  });

  const invite = (email: string, on = identity, admin = host, role = viewer) =>
    on.post('/users/invite', { email, name: 'Robin', roleId: role }, admin);

  it('stop after five a day to one address, with the same responses and the last link valid', async () => {
    const email = 'flooded@users.test';
    const userId = expectStatus(await invite(email), 201).body.id as string;
    const responses = [];
    for (let n = 0; n < 6; n += 1) responses.push(await identity.post('/users/resend-invite', { userId }, host));
    for (const { body } of responses) expect(body).toEqual({ success: true, inviteEmailSent: true });
    const mails = await testApp.query(`SELECT 1 FROM mail WHERE recipient = $1`, [email]);
    expect(mails).toHaveLength(5);
    const token = await identity.mailedToken(email, 5);
    expectStatus(await identity.post('/auth/accept-invite', { token, password: PASSWORD }), 200);
  });

  describe('where none can be sent', () => {
    let silent: IdentityReplica;
    beforeAll(async () => {
      silent = await testApp.startReplica({ MAILBOX_DIR: '' });
    });

    const tokenOf = (response: TestResponse) => /token=([\w-]{48})$/.exec(response.body.inviteUrl as string)?.[1];

    it('give the link to the host of a new account, whose address stays unverified', async () => {
      const email = 'by-link@users.test';
      const invited = expectStatus(await invite(email, silent), 201);
      const token = tokenOf(invited);
      expectStatus(await silent.post('/auth/accept-invite', { token, password: PASSWORD }), 200);
      const [account] = await testApp.query(
        'SELECT status, email_verified_at AS verified FROM user_account WHERE email = $1',
        [email],
      );
      expect(account).toEqual({ status: 'active', verified: null });
    });

    it('give no link of an account that another tenant invited, however it is asked for', async () => {
      const email = 'shared@users.test';
      const other = await registerPartner(identity, 'Other MSP');
      const role = await roleId(identity, other.bearer, 'Partner Viewer');
      expectStatus(await invite(email), 201);
      const second = expectStatus(await invite(email, silent, other, role), 201);
      expect(second.body).toMatchObject({ inviteEmailSent: false, warning: expect.any(String) });
      expect(second.body).not.toHaveProperty('inviteUrl');
      const resent = await silent.post('/users/resend-invite', { userId: second.body.id }, other);
      expect(expectStatus(resent, 200).body).not.toHaveProperty('inviteUrl');
    });

    it('give no link to a caller with fewer permissions than the other invitations grant', async () => {
      const email = 'ceiling@users.test';
      const [{ orgId }] = await testApp.query<{ orgId: string }>(
        `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
         VALUES (gen_random_uuid(), $1, 'Customer', 'c-' || gen_random_uuid(), 'active', 1) RETURNING org_id AS "orgId"`,
        [host.partnerId],
      );
      const orgAdminRole = await roleId(identity, host.bearer, 'Org Admin', `&orgId=${orgId}`);
      const orgAdmin = await inviteAndAccept(identity, host.bearer, { roleId: orgAdminRole, orgId });
      expectStatus(await invite(email, silent), 201);
      const below = expectStatus(await invite(email, silent, orgAdmin, orgAdminRole), 201);
      expect(below.body).not.toHaveProperty('inviteUrl');
      const above = await silent.post('/users/resend-invite', { userId: below.body.id }, host);
      expect(tokenOf(expectStatus(above, 200))).toBeDefined();
    });
  });
});
