import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  freshAddress,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  withStatus,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { registerPartner, roleId, sessionOf, type TestUser } from '../../test/users.js';

describe('InvitationAcceptanceService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let acme: TestUser;
  let viewer: string;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    acme = await registerPartner(identity, 'Acme MSP');
    viewer = await roleId(identity, acme.bearer, 'Partner Viewer');
  }, 120_000);
  afterAll(() => testApp.stop());

  const invite = async () => {
    const email = freshEmail();
    const body = { email, name: 'Robin Vale', roleId: viewer };
    const invited = expectStatus(await identity.post('/users/invite', body, acme), 201);
    return { email, userId: invited.body.id as string, token: await identity.mailedToken(email) };
  };
  const preview = (token: string, from?: string) => identity.post('/auth/invite/preview', { token }, { from });
  const accept = (token: string, more: object = {}) =>
    identity.post('/auth/accept-invite', { token, password: PASSWORD, ...more });

  it('previews an invitation, and accepts it once', async () => {
    const { email, token } = await invite();
    expect(expectStatus(await preview(token), 200).body).toEqual({
      email,
      name: 'Robin Vale',
      partnerName: 'Acme MSP',
    });
    const weak = await accept(token, { password: 'password' });
    expect(weak).toMatchObject({ status: 400, body: { code: 'weak_password' } });

    const accepts = await Promise.all([1, 2].map(() => accept(token)));
    expect(accepts.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(withStatus(accepts, 400).body.code).toBe('invite_invalid');
    expect(await preview(token)).toMatchObject({ status: 410, body: { code: 'invite_accepted' } });
    const { bearer } = sessionOf(withStatus(accepts, 200));
    expect((await identity.get('/users/me', { bearer })).body).toMatchObject({
      status: 'active',
      partnerId: acme.partnerId,
    });
  });

  it('stores the name that the user chooses', async () => {
    const { token } = await invite();
    const accepted = expectStatus(await accept(token, { name: 'Robin Chosen' }), 200);
    expect(accepted.body.user).toMatchObject({ name: 'Robin Chosen' });
  });

  it.each([
    ['has expired', `UPDATE invitation SET expires_at = now() WHERE user_id = $1`, 404],
    ['is of a disabled user', `UPDATE user_account SET status = 'disabled' WHERE id = $1`, 404],
    ['was withdrawn', 'DELETE FROM invitation WHERE user_id = $1', 404],
    ['was used', 'UPDATE invitation SET accepted_at = now(), role_id = NULL WHERE user_id = $1', 410],
  ])('refuses a link that %s', async (_, sql, status) => {
    const { token, userId } = await invite();
    await testApp.query(sql, [userId]);
    expect((await preview(token)).status).toBe(status);
    expect(await accept(token)).toMatchObject({ status: 400, body: { code: 'invite_invalid' } });
  });

  it.each(['x', 'A'.repeat(48)])('refuses the token %s, which no link has', async (token) => {
    expect((await preview(token)).status).toBe(404);
    expect((await accept(token)).body.code).toBe('invite_invalid');
  });

  it('requires the password length of the policies of the tenant', async () => {
    const { token } = await invite();
    const policy = `UPDATE partner SET settings = '{"security": {"passwordMinLength": 40}}' WHERE id = $1`;
    await testApp.query(policy, [acme.partnerId]);
    expect((await accept(token)).body.code).toBe('weak_password');
    await testApp.query(`UPDATE partner SET settings = '{}' WHERE id = $1`, [acme.partnerId]);
    expectStatus(await accept(token), 200);
  });

  it('audits links that are unknown or used, repeats of a client as one entry', async () => {
    const from = freshAddress();
    await preview('x', from);
    await identity.post('/auth/accept-invite', { token: 'x'.repeat(48), password: PASSWORD }, { from });
    await identity.post('/auth/accept-invite', { token: 'x'.repeat(48), password: PASSWORD }, { from });
    await eventually(async () =>
      expect(
        await testApp.query(
          `select action, result, details ->> 'reason' as reason from audit_entry where ip_address = $1 order by reason`,
          [from],
        ),
      ).toEqual([
        { action: 'user.invite.accepted', result: 'denied', reason: 'invite_invalid' },
        { action: 'user.invite.accepted', result: 'denied', reason: 'not_found' },
      ]),
    );
  });

  it('limits previews per IP address', async () => {
    const from = freshAddress();
    const statuses = await Promise.all(Array.from({ length: 31 }, async () => (await preview('x', from)).status));
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
  });
});
