import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { FIREFOX, NEWER_FIREFOX, SAFARI, SessionsClient } from '../../test/sessions.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId } from '../../test/users.js';

describe('LoginSessionsService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let client: SessionsClient;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    client = new SessionsClient(identity);
  }, 120_000);
  afterAll(() => testApp.stop());

  const news = async (email: string) =>
    (await identity.mails(email)).filter(({ subject }) => subject === 'New sign-in to your account');
  const waiting = (email: string) =>
    testApp.query(`select id from mail where recipient = $1 and template = 'new-device'`, [email]);
  /** Registered and invited users have one device by then: that of the specs. */
  const known = async () => {
    const user = await registerPartner(identity);
    expect(await waiting(user.email)).toEqual([]);
    return user;
  };

  it('sends one mail for a new device', async () => {
    const user = await known();
    await client.signIn(user, FIREFOX, '203.0.113.50');
    const [mail] = await eventually(async () => {
      const mails = await news(user.email);
      expect(mails).toHaveLength(1);
      return mails;
    });
    expect(mail?.text).toMatch(/Firefox on Windows, address 203\.0\.113\.50, at \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
    await client.signIn(user, FIREFOX, '203.0.113.51');
    await client.signIn(user, NEWER_FIREFOX, '203.0.99.1');
    expect(await waiting(user.email)).toHaveLength(1);
  });

  it('treats another network or browser as another device', async () => {
    const user = await known();
    await client.signIn(user, FIREFOX, '203.0.113.50');
    await client.signIn(user, FIREFOX, '198.51.100.50');
    await client.signIn(user, FIREFOX, '2001:db8:1::5');
    await client.signIn(user, FIREFOX, '2001:db8:ffff::5');
    await client.signIn(user, SAFARI, '203.0.113.50');
    expect(await waiting(user.email)).toHaveLength(4);
  });

  it('sends one mail for two concurrent sign-ins from a new device', async () => {
    const user = await known();
    await Promise.all(Array.from({ length: 4 }, () => client.signIn(user, SAFARI, '198.51.100.60')));
    expect(await waiting(user.email)).toHaveLength(1);
  });

  it('sends the mail after the second factor was verified', async () => {
    const user = await known();
    const { secret } = await enrollTotp(identity, user.bearer);
    const options = { from: '198.51.100.70', headers: { 'user-agent': SAFARI } };
    const { body } = await identity.post('/auth/login', { email: user.email, password: PASSWORD }, options);
    expect(await waiting(user.email)).toEqual([]);
    const proof = { code: totpCode(secret), tempToken: body.tempToken };
    expectStatus(await identity.post('/auth/mfa/verify', proof, options), 200);
    expect(await waiting(user.email)).toHaveLength(1);
  });

  it('sends no mail for the first device or an accepted invitation', async () => {
    const user = await registerPartner(identity);
    await testApp.query('delete from known_device where user_id = $1', [user.userId]);
    await client.signIn(user, SAFARI, '198.51.100.80');
    expect(await waiting(user.email)).toEqual([]);
    const viewer = await roleId(identity, user.bearer, 'Partner Viewer');
    const invited = await inviteAndAccept(identity, user.bearer, { roleId: viewer });
    expect(await waiting(invited.email)).toEqual([]);
    expect(
      await testApp.query('select user_id from known_device where user_id = any($1)', [[user.userId, invited.userId]]),
    ).toHaveLength(2);
  });
});
