import { SignJWT, type JWTPayload } from 'jose';
import { randomUUID } from 'node:crypto';
import { HostileProvider } from '@rmm/testing';
import { eventually } from '@rmm/testing-services';
import { cookiesOf, expectStatus, PASSWORD, totpCode, type TestResponse } from '../../test/identity-test-app.js';
import { registerPasskey, signIn, signInOptions } from '../../test/passkeys.js';
import { SsoMembers } from '../../test/sso-members.js';
import { errorOf, SsoTestApp, type SsoOwner } from '../../test/sso-test-app.js';
import { enrollTotp, inviteAndAccept, type TestUser } from '../../test/users.js';

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

describe('single sign-on of existing accounts', () => {
  let sso: SsoTestApp;
  let provider: HostileProvider;
  let second: HostileProvider;
  let owner: SsoOwner;
  let members: SsoMembers;

  beforeAll(async () => {
    [provider, second, sso] = await Promise.all([HostileProvider.start(), HostileProvider.start(), SsoTestApp.start()]);
    owner = await sso.owner();
    members = new SsoMembers(sso, owner, provider);
  }, 120_000);
  afterAll(async () => {
    await sso.stop();
    await Promise.all([provider.stop(), second.stop()]);
  });
  beforeEach(() => provider.reset());

  const tenant = (settings: object = {}) => members.tenant(settings);
  const member = (own: SsoOwner) => members.member(own);
  const subject = (claims: JWTPayload) => (provider.user = { sub: randomUUID(), email_verified: true, ...claims });
  const follow = (started: TestResponse) => members.follow(started);
  const signOn = (target: string) => members.signOn(target);
  const link = (user: TestUser, providerId: string, more: object = {}) => members.link(user, providerId, more);
  const linkedMember = (own: SsoOwner, id: string) => members.linkedMember({ own, orgId: own.orgId, id });

  it('links an identity to the signed-in user, after which it signs in', async () => {
    const { own, orgId, id } = await tenant();
    const user = await member(own);
    subject({ email: user.email });
    expect(errorOf(await signOn(orgId))).toBe('sso_link_required');
    expect(await link(user, id, { currentPassword: 'wrong' })).toMatchObject({
      status: 400,
      body: { code: 'invalid_credentials' },
    });
    expect((await link(user, randomUUID())).status).toBe(404);
    expect((await link(owner, id)).status).toBe(404); // not a tenant of the user
    const started = expectStatus(await link(user, id, { returnTo: '/account/security' }), 200);
    expect(started.body).toEqual({ redirectUrl: expect.stringContaining('/authorize?'), expiresInSeconds: 600 });
    const done = await follow(started);
    expect(done.headers.location).toBe('https://app.test/account/security#ssoLinked=true');
    expect(cookiesOf(done)).toEqual({ service_sso_state: '' });
    const session = expectStatus(await sso.exchange(await signOn(orgId)), 200).body;
    expect(session.user.id).toBe(user.userId);

    const identities = expectStatus(await sso.identity.get('/sso/identities', user), 200).body.data;
    const remove = (password: string) =>
      sso.identity.call('delete', `/sso/identities/${identities[0].id}`, { currentPassword: password }, user);
    expect((await remove('wrong')).body.code).toBe('invalid_credentials');
    expectStatus(await remove(PASSWORD), 200);
    expect((await remove(PASSWORD)).status).toBe(404);
    await eventually(async () => {
      expect((await sso.identity.get('/users/me', { bearer: session.accessToken as string })).status).toBe(401);
    });
    expect(errorOf(await signOn(orgId))).toBe('sso_link_required');
  });

  it('links one identity to one of two accounts that race for it', async () => {
    const { own, id } = await tenant();
    const users = await Promise.all([member(own), member(own)]);
    subject({ email: users[0]?.email });
    const starts = [];
    for (let n = 0; n < 20; n += 1) starts.push(expectStatus(await link(users[n % 2], id), 200));
    const results = (await Promise.all(starts.map((started) => follow(started)))).map(errorOf);
    const owners = await sso.testApp.query<{ user_id: string }>(
      'SELECT user_id FROM sso_identity WHERE provider_id = $1',
      [id],
    );
    expect(owners).toHaveLength(1);
    expect(results.filter((code) => code === 'identity_in_use')).toHaveLength(10);
    await eventually(async () => {
      const rejected = (await sso.audited('sso.identity.link_rejected')).filter(({ org_id }) => org_id === own.orgId);
      expect(rejected).toHaveLength(10);
    });
  });

  it('asks for the local factor unless the provider is trusted to verify one', async () => {
    const { own, orgId, id } = await tenant();
    const user = await linkedMember(own, id);
    const { secret } = await enrollTotp(sso.identity, user.bearer);
    provider.user = { ...provider.user, amr: ['pwd', 'mfa'] };
    const challenge = expectStatus(await sso.exchange(await signOn(orgId)), 200);
    expect(challenge.body).toMatchObject({ mfaRequired: true, mfaMethod: 'totp', tokens: null });
    expect(cookiesOf(challenge).service_refresh_token).toBeUndefined();
    const { tempToken } = challenge.body;
    const verified = expectStatus(
      await sso.identity.post('/auth/mfa/verify', { tempToken, code: totpCode(secret, 1) }),
      200,
    );
    const [session] = await sso.testApp.query(
      `SELECT method, mfa, sso_provider_id FROM session_family WHERE user_id = $1 ORDER BY created_at DESC LIMIT 1`,
      [user.userId],
    );
    expect(session).toEqual({ method: 'sso', mfa: true, sso_provider_id: id });
    expect(verified.body.user.id).toBe(user.userId);

    expectStatus(await sso.identity.patch(`/sso/providers/${id}`, { trustsIdpMfa: true }, owner), 200);
    const trusted = expectStatus(await sso.exchange(await signOn(orgId)), 200);
    expect(claimsOf(trusted.body.accessToken as string)).toMatchObject({ mfa: true });
    provider.user = { ...provider.user, amr: ['pwd'] };
    expect(expectStatus(await sso.exchange(await signOn(orgId)), 200).body).toMatchObject({ mfaRequired: true });
  });

  it('closes the password ways of the members of an organization that enforces it, and of no other user', async () => {
    const { own, orgId, id } = await tenant();
    const user = await linkedMember(own, id);
    const elsewhere = await linkedMember(own, id);
    const other = await sso.organization(owner.partnerId);
    await sso.testApp.query(
      `INSERT INTO organization_membership (partner_id, org_id, user_id, role_id)
       SELECT partner_id, $2, user_id, role_id FROM organization_membership WHERE user_id = $1`,
      [elsewhere.userId, other],
    );
    const login = (email: string, more: object = {}) =>
      sso.identity.post('/auth/login', { email, password: PASSWORD, ...more });
    const reset = async (email: string) => {
      expectStatus(await sso.identity.post('/auth/forgot-password', { email }), 200);
      return sso.identity.mailedToken(email, 2);
    };
    const token = await reset(user.email);
    const { bearer } = { bearer: expectStatus(await login(user.email), 200).body.tokens.accessToken as string };
    const byProvider = expectStatus(await sso.exchange(await (subjectOf(user), signOn(orgId))), 200);

    expectStatus(await sso.identity.patch(`/sso/providers/${id}`, { enforceSSO: true }, owner), 200);
    await eventually(async () => expect((await sso.identity.get('/users/me', { bearer })).status).toBe(401));
    expectStatus(await sso.identity.get('/users/me', { bearer: byProvider.body.accessToken as string }), 200);
    const refused = await login(user.email);
    expect(refused).toMatchObject({ status: 401, body: { code: 'login_failed' } });
    const password = 'another-horse-battery-8';
    expect(await sso.identity.post('/auth/reset-password', { token, password })).toMatchObject({
      status: 403,
      body: { code: 'sso_enforced' },
    });
    const change = { currentPassword: PASSWORD, newPassword: password };
    expect(
      await sso.identity.post('/auth/change-password', change, { bearer: byProvider.body.accessToken as string }),
    ).toMatchObject({ status: 403, body: { code: 'sso_enforced' } });
    const before = (await sso.identity.mails(user.email)).length;
    expectStatus(await sso.identity.post('/auth/forgot-password', { email: user.email }), 200);

    // A member of another organization too keeps the password, for that one.
    const kept = expectStatus(await login(elsewhere.email), 200).body;
    expect(claimsOf(kept.tokens.accessToken as string)).toMatchObject({ orgId: other });
    expect((await login(elsewhere.email, { orgId })).status).toBe(401);
    const switched = await sso.identity.post('/auth/switch', { orgId }, { bearer: kept.tokens.accessToken as string });
    expect(switched).toMatchObject({ status: 403, body: { code: 'sso_enforced' } });
    expect((await login(owner.email)).status).toBe(200); // the partner's staff
    expect((await sso.identity.mails(user.email)).length).toBe(before);

    // A session of the organization's provider reaches the organization only.
    subjectOf(elsewhere);
    const inside = expectStatus(await sso.exchange(await signOn(orgId)), 200).body.accessToken as string;
    const leave = await sso.identity.post('/auth/switch', { orgId: other }, { bearer: inside });
    expect(leave).toMatchObject({ status: 403, body: { code: 'sso_session_restricted' } });

    // While it is not active nothing is enforced.
    await sso.setStatus(owner, id, 'testing');
    expectStatus(await login(user.email), 200);
  });

  it('closes passkeys, second steps in progress and mailed links of its members, and no way elsewhere', async () => {
    const { own, orgId, id } = await tenant();
    const other = await sso.organization(owner.partnerId);
    const only = await linkedMember(own, id);
    const both = await linkedMember(own, id);
    await sso.testApp.query(
      `INSERT INTO organization_membership (partner_id, org_id, user_id, role_id, last_entered_at)
       SELECT partner_id, $2, user_id, role_id, now() - INTERVAL '1 day' FROM organization_membership WHERE user_id = $1`,
      [both.userId, other],
    );
    const equip = async (user: TestUser) => {
      const { authenticator } = await registerPasskey(sso.identity, user);
      return { ...user, authenticator };
    };
    const [member, guest] = [await equip(only), await equip(both)];
    const login = async (email: string) =>
      expectStatus(await sso.identity.post('/auth/login', { email, password: PASSWORD }), 200).body;
    const pending = await Promise.all([login(only.email), login(only.email), login(both.email)]);
    const startMfa = async (tempToken: string) =>
      expectStatus(await sso.identity.post('/auth/mfa/passkey/options', { tempToken }), 200).body.options as never;
    const options = await startMfa(pending[0].tempToken as string);
    const guestOptions = await startMfa(pending[2].tempToken as string);
    const alone = await signInOptions(sso.identity);

    expectStatus(await sso.identity.patch(`/sso/providers/${id}`, { enforceSSO: true }, owner), 200);
    const verify = (tempToken: string, credential: object) =>
      sso.identity.post('/auth/mfa/passkey/verify', { tempToken, credential });
    const ended = { status: 401, body: { code: 'mfa_session_invalid' } };
    expect(await verify(pending[0].tempToken as string, member.authenticator.get(options))).toMatchObject(ended);
    const code = await sso.identity.post('/auth/mfa/verify', { tempToken: pending[1].tempToken, code: 'AAAA-AAAA' });
    expect(code).toMatchObject(ended);
    // The login was for the organization that was entered last: the enforced one.
    expect(await verify(pending[2].tempToken as string, guest.authenticator.get(guestOptions))).toMatchObject(ended);
    expect((await signIn(sso.identity, member.authenticator.get(alone))).status).toBe(401);
    const named = guest.authenticator.get(await signInOptions(sso.identity));
    expect((await signIn(sso.identity, named, { orgId })).status).toBe(401);

    const entered = await signIn(sso.identity, guest.authenticator.get(await signInOptions(sso.identity)));
    expect(claimsOf(expectStatus(entered, 200).body.tokens.accessToken as string)).toMatchObject({ orgId: other });
    const again = (await login(both.email)).tempToken as string;
    const second = await verify(again, guest.authenticator.get(await startMfa(again)));
    expect(claimsOf(expectStatus(second, 200).body.tokens.accessToken as string)).toMatchObject({ orgId: other });
    const forgot = async ({ email }: TestUser) =>
      expectStatus(await sso.identity.post('/auth/forgot-password', { email }), 200);
    await forgot(only);
    await forgot(both);
    const token = await sso.identity.mailedToken(both.email, 2);
    const password = 'another-horse-battery-8';
    expectStatus(await sso.identity.post('/auth/reset-password', { token, password }), 200);
    const links = (await sso.identity.mails(only.email)).filter(({ text }) => text.includes('reset-password'));
    expect(links).toEqual([]);
  });

  it('ends a session of another way at its refresh once single sign-on is enforced', async () => {
    const { own, id } = await tenant();
    const user = await member(own);
    await sso.testApp.query('UPDATE sso_provider SET enforce_sso = TRUE WHERE id = $1', [id]);
    const refreshed = await sso.identity.post('/auth/refresh', { refreshToken: user.cookies.service_refresh_token });
    expect(refreshed).toMatchObject({ status: 401, body: { code: 'refresh_invalid' } });
  });

  it('is found by a proven domain that is enforced, by nothing else', async () => {
    const { own, orgId, id } = await tenant();
    const domain = `${randomUUID().slice(0, 8)}.test`;
    const discover = async () =>
      expectStatus(await sso.identity.post('/auth/sso-discovery', { email: `user@${domain}` }), 200).body;
    expect(await discover()).toEqual({ sso: null });
    await sso.proveDomain(own, domain);
    expect(await discover()).toEqual({ sso: null });
    expectStatus(await sso.identity.patch(`/sso/providers/${id}`, { enforceSSO: true }, owner), 200);
    const started = performance.now();
    const loginUrl = `/api/v1/sso/login/${orgId}`;
    expect(await discover()).toEqual({ sso: { providerName: 'Identity provider', loginUrl, enforceSSO: true } });
    expect(performance.now() - started).toBeGreaterThanOrEqual(349);
    const check = (of: string) => sso.identity.get(`/sso/check/${of}`);
    expect((await check(orgId)).body).toEqual({
      ssoEnabled: true,
      provider: { id, name: 'Identity provider', type: 'oidc' },
      enforceSSO: true,
      loginUrl,
    });
    expect((await check(randomUUID())).body).toEqual({ ssoEnabled: false });
    await sso.setStatus(owner, id, 'testing');
    expect(await discover()).toEqual({ sso: null });
    expect((await check(orgId)).body).toEqual({ ssoEnabled: false });
  });

  it('signs in the staff of a partner, and creates no user there', async () => {
    await sso.provider(owner, provider.issuer, { orgId: undefined, ownerScope: 'partner' });
    const target = `partner/${owner.partnerId}`;
    const technician = await inviteAndAccept(sso.identity, owner.bearer, {
      roleId: await partnerRole(),
      orgAccess: 'all',
    });
    subject({ email: technician.email, email_verified: undefined });
    expect(errorOf(await signOn(target))).toBe('sso_link_required');
    await sso.testApp.query('UPDATE user_account SET password_hash = NULL WHERE id = $1', [technician.userId]);
    const session = expectStatus(await sso.exchange(await signOn(target)), 200).body;
    expect(claimsOf(session.accessToken as string)).toMatchObject({ scope: 'partner', partnerId: owner.partnerId });
    subject({ email: 'unknown@example.com' });
    expect(errorOf(await signOn(target))).toBe('invite_required');
    const outsider = await sso.owner();
    subject({ email: outsider.email });
    expect(errorOf(await signOn(target))).toBe('no_partner_access');
  });

  it('refuses the response of another provider before its code is sent anywhere', async () => {
    const { own, orgId } = await tenant();
    const { location, cookies } = await sso.start(orgId);
    second.reset();
    provider.reset();
    // The browser is led to the other provider, which answers with the state of this login.
    const back = second.authorize(location);
    expect(errorOf(await sso.callback(back, cookies))).toBe('invalid_callback');
    expect(second.calls).toEqual([]);
    expect(provider.calls).toEqual([]);
    expect(own.orgId).toBe(orgId);
  });

  describe('logout', () => {
    it('ends the sessions here and returns the page that ends the one at the provider', async () => {
      const { own, orgId, id } = await tenant();
      await linkedMember(own, id);
      const bearer = expectStatus(await sso.exchange(await signOn(orgId)), 200).body.accessToken as string;
      const done = expectStatus(await sso.identity.post('/sso/logout', { returnTo: '/bye' }, { bearer }), 200);
      const url = new URL(done.body.redirectUrl as string);
      expect(`${url.origin}${url.pathname}`).toBe(`${provider.issuer}/logout`);
      expect(Object.fromEntries(url.searchParams)).toMatchObject({
        client_id: 'rmm',
        post_logout_redirect_uri: 'https://app.test/bye',
      });
      await eventually(async () => expect((await sso.identity.get('/users/me', { bearer })).status).toBe(401));
      const plain = expectStatus(
        await sso.identity.post('/auth/login', { email: owner.email, password: PASSWORD }),
        200,
      );
      expect(plain.body.mfaRequired).toBe(true);
    });

    it('by the provider ends the sessions of the subject or the session that the token names', async () => {
      const { own, orgId, id } = await tenant();
      const user = await linkedMember(own, id);
      provider.user = { ...provider.user, sid: 'session-1' };
      const first = expectStatus(await sso.exchange(await signOn(orgId)), 200).body.accessToken as string;
      provider.user = { ...provider.user, sid: 'session-2' };
      const other = expectStatus(await sso.exchange(await signOn(orgId)), 200).body.accessToken as string;
      const status = async (bearer: string) => (await sso.identity.get('/users/me', { bearer })).status;
      const token = (claims: JWTPayload, header: object = {}) =>
        provider.sign(
          {
            ...{ iss: provider.issuer, aud: 'rmm', iat: Math.floor(Date.now() / 1_000), jti: randomUUID() },
            ...{ events: { [LOGOUT_EVENT]: {} }, ...claims },
          },
          { typ: 'logout+jwt', ...header },
        );
      const logout = (logoutToken: string, of = id) =>
        sso.identity.call('post', `/sso/backchannel-logout/${of}`, undefined, {
          send: (request) => request.type('form').send({ logout_token: logoutToken }),
        });
      const sub = user.sub;
      const invalid = [
        await token({ sub, iss: 'https://other.test' }),
        await token({ sub, aud: 'other' }),
        await token({ sub, iat: Math.floor(Date.now() / 1_000) - 900 }),
        await token({ sub, nonce: 'a nonce' }),
        await token({ sub, events: {} }),
        await token({ sub, jti: undefined }),
        await token({}),
        await new SignJWT({ sub, events: { [LOGOUT_EVENT]: {} }, iss: provider.issuer, aud: 'rmm', jti: 'x' })
          .setIssuedAt()
          .setProtectedHeader({ alg: 'HS256' })
          .sign(new TextEncoder().encode(HostileProvider.clientSecret)),
        'no token',
      ];
      for (const each of invalid) expect((await logout(each)).body.code).toBe('logout_token_invalid');
      expect((await logout(await token({ sub }), randomUUID())).body.code).toBe('logout_token_invalid');
      expect((await sso.identity.post(`/sso/backchannel-logout/${id}`, { logout_token: 'x' })).status).toBe(415);
      expect([await status(first), await status(other)]).toEqual([200, 200]);

      expectStatus(await logout(await token({ sub, sid: 'session-1' })), 200);
      await eventually(async () => expect(await status(first)).toBe(401));
      expect(await status(other)).toBe(200);
      expect(await status(user.bearer)).toBe(200); // signed in with the password
      expectStatus(await logout(await token({ sub })), 200);
      await eventually(async () => expect(await status(other)).toBe(401));
      expectStatus(await logout(await token({ sub: 'unknown' })), 200);
    });
  });

  const subjectOf = ({ email, sub }: { email: string; sub?: string }) =>
    (provider.user = { sub, email, email_verified: true, name: 'Uma User' });
  const partnerRole = async () => {
    const role = { name: 'Technician', permissions: [{ resource: 'devices', action: 'read' }] };
    return expectStatus(await sso.identity.post('/roles', role, owner), 201).body.id as string;
  };
});

const claimsOf = (token: string): JWTPayload =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as JWTPayload;
