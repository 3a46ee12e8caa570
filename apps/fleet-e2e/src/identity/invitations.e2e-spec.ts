import {
  ApiClient,
  connectToFleet,
  eventually,
  inviteAndAccept,
  MailboxClient,
  partnerWithMfa,
  PASSWORD,
  registerPartner,
  type SignedIn,
} from '@rmm/testing';
import { must } from '../steps.js';

const FLEET = ['/users/me', '/orgs/organizations', '/api-keys', '/devices'];

describe('invitations of existing accounts', () => {
  const fleet = connectToFleet();
  const anonymous = () => new ApiClient(fleet.baseUrl);
  let stranger: SignedIn;
  let viewer: string;

  beforeAll(async () => {
    stranger = await partnerWithMfa(fleet);
    const { data } = must(await stranger.client.get('/users/roles?limit=100'), 200);
    viewer = (data as { id: string; name: string }[]).find(({ name }) => name === 'Partner Viewer')?.id ?? '';
  });

  const login = (email: string, more: object = {}) =>
    anonymous().post('/auth/login', { email, password: PASSWORD, ...more });
  const invite = async ({ email }: SignedIn) => {
    must(await stranger.client.post('/users/invite', { email, name: 'Ada', roleId: viewer }), 201);
    return eventually(async () => {
      const mails = await new MailboxClient(fleet.mailboxUrl).messages(email);
      const found = mails.map(({ text }) => /accept-invite\?token=([\w-]+)/.exec(text)?.[1]).find(Boolean);
      if (!found) throw new Error('no link yet');
      return found;
    });
  };

  it('neither bind users to the policies of the tenant nor end their sessions', async () => {
    const victim = await registerPartner(fleet);
    await invite(victim);
    const policy = { settings: { security: { requireMfa: true, passwordMinLength: 64, sessionLifetimeHours: 1 } } };
    must(await stranger.client.patch('/orgs/partners/me', policy), 200);
    const session = must(await login(victim.email), 200);
    const client = anonymous().as({ bearer: session.tokens.accessToken as string });
    const me = must(await client.get('/auth/me'), 200);
    expect(me.memberships).toEqual([expect.objectContaining({ partnerId: victim.partnerId, current: true })]);
    expect(me.pendingMemberships).toEqual([expect.objectContaining({ partnerId: stranger.partnerId })]);
    must(await stranger.client.delete(`/users/${victim.userId}`), 404);
    must(await stranger.client.delete(`/users/invitations/${victim.userId}`), 200);
    for (const path of FLEET) must(await victim.client.get(path), 200);
    for (const path of FLEET) must(await client.get(path), 200);
    must(await stranger.client.patch('/orgs/partners/me', { settings: { security: null } }), 200);
  });

  it('make the user a member with acceptance, until it leaves', async () => {
    const user = await registerPartner(fleet);
    const token = await invite(user);
    const accepted = must(await user.client.post('/auth/accept-invite', { token }), 200);
    const there = anonymous().as({ bearer: accepted.tokens.accessToken as string });
    const own = must(await login(user.email, { partnerId: user.partnerId }), 200);
    const home = anonymous().as({ bearer: own.tokens.accessToken as string });
    must(await there.get('/orgs/organizations'), 200);
    must(await there.post('/auth/leave', { partnerId: stranger.partnerId }), 200);
    for (const path of FLEET) {
      await eventually(async () => {
        must(await there.get(path), 401);
      });
    }
    for (const path of FLEET) must(await home.get(path), 200);
  });

  it('leave members of one partner alone when another partner removes them', async () => {
    const owner = await partnerWithMfa(fleet);
    const { data } = must(await owner.client.get('/users/roles?limit=100'), 200);
    const role = (data as { id: string; name: string }[]).find(({ name }) => name === 'Partner Viewer')?.id ?? '';
    const member = await inviteAndAccept(fleet, owner.client, { roleId: role });
    must(await stranger.client.post('/users/invite', { email: member.email, name: 'S', roleId: viewer }), 201);
    must(await stranger.client.delete(`/users/invitations/${member.userId}`), 200);
    must(await member.client.get('/users/me'), 200);
  });
});
