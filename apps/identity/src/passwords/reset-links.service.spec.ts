import {
  expectStatus,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { PasswordResetsClient } from '../../test/password-resets.js';
import { registerPartner, sessionOf } from '../../test/users.js';

const INVALID = { status: 400, body: { code: 'reset_token_invalid' } };

describe('ResetLinksService', () => {
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

  it.each([
    ['is an hour old', `update link_token set expires_at = now() where user_id = $1 and purpose = 'password_reset'`],
    ['belongs to a disabled user', `update user_account set status = 'disabled' where id = $1`],
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
    'refuses a link that %s',
    async (_, change) => {
      const user = await registerPartner(identity);
      const token = await links.requestLink(user);
      await testApp.query(change, [user.userId]);
      expect(await links.reset(token)).toMatchObject(INVALID);
      expect(
        await testApp.query('select 1 from user_account where id = $1 and password_changed_at > created_at', [
          user.userId,
        ]),
      ).toEqual([]);
    },
    30_000,
  );

  it('refuses a link after a newer one, a changed password or a changed address', async () => {
    const superseded = await registerPartner(identity);
    const older = await links.requestLink(superseded);
    expectStatus(await links.forgot(superseded.email), 200);
    const [newer] = await links.linksFor(superseded.email, 2);
    expect(await links.reset(older)).toMatchObject(INVALID);

    const { bearer } = sessionOf(await login(superseded.email, PASSWORD));
    const change = { currentPassword: PASSWORD, newPassword: 'another-horse-battery-8' };
    expectStatus(await identity.post('/auth/change-password', change, { bearer }), 200);
    expect(await links.reset(newer)).toMatchObject(INVALID);

    const mover = await registerPartner(identity);
    const token = await links.requestLink(mover);
    const email = freshEmail('moved');
    const fresh = sessionOf(await login(mover.email, PASSWORD));
    expectStatus(await identity.patch('/users/me', { email }, { bearer: fresh.bearer }), 200);
    const confirmation = await identity.mailedToken(email);
    expectStatus(await identity.post('/auth/verify-email', { token: confirmation }), 200);
    expect(await links.reset(token)).toMatchObject(INVALID);
  });
});
