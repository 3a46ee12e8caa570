import { CertifiedProvider } from '@rmm/testing';
import { eventually } from '@rmm/testing-services';
import { cookiesOf, expectStatus, freshEmail, PASSWORD } from '../../test/identity-test-app.js';
import { APP_URL, CALLBACK_URL, codeOf, errorOf, SsoTestApp, type SsoOwner } from '../../test/sso-test-app.js';
import { inviteAndAccept } from '../../test/users.js';

const uniqueDomain = () => `d${Math.random().toString(36).slice(2, 10)}.test`;

describe('single sign-on with a certified provider', () => {
  let sso: SsoTestApp;
  let provider: CertifiedProvider;
  let owner: SsoOwner;

  beforeAll(async () => {
    provider = await CertifiedProvider.start({ redirectUri: CALLBACK_URL, postLogoutRedirectUri: `${APP_URL}/` });
    sso = await SsoTestApp.start();
    owner = await sso.owner();
  }, 120_000);
  afterAll(async () => {
    await sso.stop();
    await provider.stop();
  });

  const account = (email: string, more: object = {}) => {
    const subject = `sub-${email}`;
    provider.accounts.set(subject, { email, email_verified: true, name: 'Uma User', ...more });
    return subject;
  };
  const another = async (settings: object = {}) => {
    const orgId = await sso.organization(owner.partnerId);
    const role = { name: 'Staff', permissions: [{ resource: 'devices', action: 'read' }], orgId };
    const { id: roleId } = expectStatus(await sso.identity.post('/roles', role, owner), 201).body as { id: string };
    const own = { ...owner, orgId, roleId };
    return { own, id: await sso.provider(own, provider.issuer, { defaultRoleId: roleId, ...settings }) };
  };

  it('creates a user at the first login, and signs the same user in afterwards', async () => {
    const { own, id } = await another();
    const email = freshEmail('new');
    const subject = account(email);

    const started = await sso.start(`${own.orgId}?returnTo=/devices?page=2`);
    const url = new URL(started.location);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'rmm',
      redirect_uri: CALLBACK_URL,
      code_challenge_method: 'S256',
      scope: 'openid profile email',
    });
    const callback = await sso.callback(await provider.signIn(started.location, subject), started.cookies);
    expect(callback.headers.location).toMatch(/^https:\/\/app\.test\/devices\?page=2#ssoCode=[A-Za-z0-9_-]{48}$/);
    expect(callback.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    const exchanged = expectStatus(await sso.exchange(callback), 200);
    expect(exchanged.body).toEqual({
      accessToken: expect.any(String),
      expiresInSeconds: 900,
      refreshToken: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      csrfToken: expect.stringMatching(/^[0-9a-f]{64}$/),
      user: expect.objectContaining({ email, name: 'Uma User', mfaEnabled: false }),
    });
    expect(cookiesOf(exchanged).service_refresh_token).toBe(exchanged.body.refreshToken);
    const bearer = exchanged.body.accessToken as string;
    const me = expectStatus(await sso.identity.get('/users/me', { bearer }), 200);
    expect(me.body).toMatchObject({ email, orgId: own.orgId, permissions: [{ resource: 'devices', action: 'read' }] });

    const again = expectStatus(await sso.exchange(await sso.signOn(provider, subject, own.orgId)), 200);
    expect(again.body.user.id).toBe(exchanged.body.user.id);
    const identities = expectStatus(await sso.identity.get('/sso/identities', { bearer }), 200);
    expect(identities.body.data).toEqual([
      expect.objectContaining({ providerId: id, email, ownerScope: 'organization', orgId: own.orgId }),
    ]);
    await eventually(async () => {
      const linked = (await sso.audited('sso.identity.linked')).filter((entry) => entry.details.providerId === id);
      expect(linked).toEqual([expect.objectContaining({ details: expect.objectContaining({ created: true }) })]);
    });
  });

  it('redirects with a code of its own for each reason of a refusal', async () => {
    const { own, id } = await another({ autoProvision: false, allowedDomains: 'example.com, example.org' });
    const errorFor = async (subject: string) => errorOf(await sso.signOn(provider, subject, own.orgId));
    expect(await errorFor(account('unknown@example.com'))).toBe('user_not_found');
    expect(await errorFor(account('unknown@evil-example.com'))).toBe('domain_not_allowed');
    expect(await errorFor(account('unknown@example.com.evil.test'))).toBe('domain_not_allowed');
    expect(await errorFor(account('unknown@example.org', { email_verified: false }))).toBe('sso_email_unverified');
    expect(await errorFor(account('unknown@example.org', { email_verified: 'false' }))).toBe('sso_email_unverified');
    expect(await errorFor(account('unknown@example.org', { email_verified: undefined }))).toBe('sso_domain_unverified');
    await sso.testApp.query(
      `UPDATE sso_provider SET allowed_domains = '{}', auto_provision = TRUE, default_role_id = NULL WHERE id = $1`,
      [id],
    );
    expect(await errorFor(account(freshEmail()))).toBe('default_role_required');
    expect(await errorFor(account(owner.email))).toBe('no_org_access');
    await eventually(async () => {
      const codes = (await sso.audited('sso.callback.rejected')).map(({ details }) => details.code);
      expect(codes).toEqual(expect.arrayContaining(['user_not_found', 'domain_not_allowed', 'no_org_access']));
    });
  });

  it('ends logins in progress when the provider changes, is deactivated, deleted or too slow', async () => {
    const { own, id } = await another();
    const subject = account(freshEmail());
    const finishAfter = async (change: () => Promise<unknown>) => {
      const { location, cookies } = await sso.start(own.orgId);
      const back = await provider.signIn(location, subject);
      await change();
      return errorOf(await sso.callback(back, cookies));
    };
    const expire = () => sso.testApp.query(`UPDATE sso_flow SET expires_at = now() - INTERVAL '1 second'`);
    expect(await finishAfter(expire)).toBe('session_expired');
    const rename = { name: 'Renamed' };
    expect(await finishAfter(() => sso.identity.patch(`/sso/providers/${id}`, rename, owner))).toBe(
      'sso_config_changed',
    );
    const restart = async () => {
      await sso.setStatus(owner, id, 'inactive');
      await sso.setStatus(owner, id, 'active');
    };
    expect(await finishAfter(restart)).toBe('sso_config_changed');
    expect(await finishAfter(() => sso.setStatus(owner, id, 'testing'))).toBe('provider_not_found');
    expect((await sso.identity.get(`/sso/login/${own.orgId}`)).status).toBe(404);
    await sso.setStatus(owner, id, 'active');
    expect(await finishAfter(() => sso.identity.delete(`/sso/providers/${id}`, owner))).toBe('provider_not_found');
  });

  it('refuses a callback without state, of another browser, and a repeated one', async () => {
    const { own } = await another();
    const subject = account(freshEmail());
    const { location, cookies } = await sso.start(own.orgId);
    const back = await provider.signIn(location, subject);
    const other = await sso.start(own.orgId);
    expect(errorOf(await sso.callback(back, other.cookies))).toBe('session_invalid');
    expect(errorOf(await sso.callback(back, {}))).toBe('session_invalid');
    expect(errorOf(await sso.callback(`${CALLBACK_URL}?code=x`, cookies))).toBe('invalid_callback');
    expect(errorOf(await sso.callback(`${back}&state=x`, cookies))).toBe('invalid_callback');
    codeOf(await sso.callback(back, cookies));
    expect(errorOf(await sso.callback(back, cookies))).toBe('session_invalid');
  });

  it('completes one of twenty parallel callbacks with the same state', async () => {
    const { own } = await another();
    const email = freshEmail('repeated');
    const { location, cookies } = await sso.start(own.orgId);
    const back = await provider.signIn(location, account(email));
    const callbacks = await Promise.all(Array.from({ length: 20 }, () => sso.callback(back, cookies)));
    const completed = callbacks.filter((callback) => errorOf(callback) === null);
    expect(completed).toHaveLength(1);
    const refused = callbacks.filter((callback) => errorOf(callback) === 'session_invalid');
    expect(refused).toHaveLength(19);
    for (const callback of refused) expect(cookiesOf(callback).service_sso_code).toBeUndefined();
    for (const callback of completed) expectStatus(await sso.exchange(callback), 200);
    expect(await sso.testApp.query('SELECT id FROM user_account WHERE email = $1', [email])).toHaveLength(1);
  });

  describe('with a second provider (mix-up)', () => {
    let second: CertifiedProvider;
    beforeAll(async () => {
      second = await CertifiedProvider.start({ redirectUri: CALLBACK_URL });
    });
    afterAll(() => second.stop());

    it('refuses the response of the one for a login that began at the other, in both directions', async () => {
      const honest = await another();
      const { own } = await another();
      await sso.provider(own, second.issuer, { name: 'Second', defaultRoleId: own.roleId });
      const [first] = await sso.testApp.query<{ id: string }>(
        'SELECT id FROM sso_provider WHERE org_id = $1 ORDER BY created_at LIMIT 1',
        [own.orgId],
      );
      await sso.setStatus(owner, first?.id ?? '', 'inactive'); // the second one is the provider of this organization
      const email = freshEmail('mixed');
      const subject = account(email);
      second.accounts.set(subject, { email, email_verified: true });
      for (const [target, started, confused] of [
        [honest.own.orgId, provider, second],
        [own.orgId, second, provider],
      ] as const) {
        const login = await sso.start(target);
        expect(login.location).toContain(started.issuer);
        // The browser is led to the other provider with the parameters of this login.
        const led = new URL(login.location);
        const back = await confused.signIn(`${confused.issuer}/auth${led.search}`, subject);
        expect(new URL(back).searchParams.get('iss')).toBe(confused.issuer);
        expect(errorOf(await sso.callback(back, login.cookies))).toBe('invalid_callback');
        // Without the parameter the code is refused by the provider it is sent to, or not sent at all.
        const again = await sso.start(target);
        const stripped = new URL(
          await confused.signIn(`${confused.issuer}/auth${new URL(again.location).search}`, subject),
        );
        stripped.searchParams.delete('iss');
        expect(errorOf(await sso.callback(stripped.href, again.cookies))).toBe('invalid_callback');
      }
      expect(await sso.testApp.query('SELECT id FROM user_account WHERE email = $1', [email])).toEqual([]);
      const crossed = await sso.start(own.orgId);
      codeOf(await sso.callback(await second.signIn(crossed.location, subject), crossed.cookies));
    });

    it('knows the same subject of two providers as two identities', async () => {
      const { own } = await another();
      const other = await another();
      await sso.testApp.query('UPDATE sso_provider SET status = $2 WHERE org_id = $1', [other.own.orgId, 'inactive']);
      await sso.provider(other.own, second.issuer, { defaultRoleId: other.own.roleId });
      const subject = 'the-same-subject';
      const emails = [freshEmail('one'), freshEmail('two')] as const;
      provider.accounts.set(subject, { email: emails[0], email_verified: true });
      second.accounts.set(subject, { email: emails[1], email_verified: true });
      const one = expectStatus(await sso.exchange(await sso.signOn(provider, subject, own.orgId)), 200).body.user;
      const two = expectStatus(await sso.exchange(await sso.signOn(second, subject, other.own.orgId)), 200).body.user;
      expect([one.email, two.email]).toEqual(emails);
      expect(one.id).not.toBe(two.id);
    });
  });

  it('exchanges a code once, in the browser of the callback, while provider and account stay as they were', async () => {
    const { own, id } = await another();
    const subject = account(freshEmail());
    const exchange = (code: string, options = {}) => sso.identity.post('/sso/exchange', { code }, options);
    const done = await sso.signOn(provider, subject, own.orgId);
    const cookies = cookiesOf(done);
    const foreign = cookiesOf(await sso.signOn(provider, subject, own.orgId));
    const invalid = { status: 400, body: { code: 'sso_code_invalid' } };
    expect(await exchange(codeOf(done), { cookies: foreign })).toMatchObject(invalid);
    expect(await exchange(codeOf(done), { headers: { origin: APP_URL } })).toMatchObject(invalid);
    const calls = await Promise.all(Array.from({ length: 20 }, () => exchange(codeOf(done), { cookies })));
    expect(calls.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(calls.filter(({ body }) => body.code === 'sso_code_invalid')).toHaveLength(19);

    const late = await sso.signOn(provider, subject, own.orgId);
    await sso.testApp.query(`UPDATE sso_code SET expires_at = now() - INTERVAL '1 second'`);
    expect(await sso.exchange(late)).toMatchObject(invalid);
    const stopped = await sso.signOn(provider, subject, own.orgId);
    await sso.setStatus(owner, id, 'inactive');
    expect(await sso.exchange(stopped)).toMatchObject(invalid);
  });

  it('links a member by address only when its domain is proven', async () => {
    const domain = uniqueDomain();
    const { own } = await another();
    const invite = { orgId: own.orgId, roleId: own.roleId };
    const member = await inviteAndAccept(sso.identity, owner.bearer, invite);
    expect(errorOf(await sso.signOn(provider, account(member.email), own.orgId))).toBe('sso_link_required');

    const proven = `member@${domain}`;
    const [row] = await sso.testApp.query<{ id: string }>(
      `UPDATE user_account SET email = $2 WHERE id = $1 RETURNING id`,
      [member.userId, proven],
    );
    const subject = account(proven, { email_verified: undefined });
    expect(errorOf(await sso.signOn(provider, subject, own.orgId))).toBe('sso_domain_unverified');
    await sso.proveDomain(own, domain);
    const exchanged = expectStatus(await sso.exchange(await sso.signOn(provider, subject, own.orgId)), 200);
    expect(exchanged.body.user.id).toBe(row?.id);
    // Linked: the asserted address does not matter any more.
    provider.accounts.set(subject, { email: freshEmail('renamed'), name: 'Renamed' });
    expect(expectStatus(await sso.exchange(await sso.signOn(provider, subject, own.orgId)), 200).body.user.id).toBe(
      row?.id,
    );
    // The address now belongs to another user at the provider.
    const successor = `successor-${subject}`;
    provider.accounts.set(successor, { email: proven, email_verified: true });
    expect(errorOf(await sso.signOn(provider, successor, own.orgId))).toBe('sso_link_required');
  });

  it('activates an invited account whose domain is proven, and no other', async () => {
    const domain = uniqueDomain();
    const { own } = await another({ enforceSSO: true });
    const email = `invited@${domain}`;
    const invite = { email, name: 'Ina Invited', roleId: own.roleId, orgId: own.orgId };
    expectStatus(await sso.identity.post('/users/invite', invite, owner), 201);
    const subject = account(email);
    expect(errorOf(await sso.signOn(provider, subject, own.orgId))).toBe('no_org_access');
    const token = await sso.identity.mailedToken(email);
    const byPassword = await sso.identity.post('/auth/accept-invite', { token, password: PASSWORD });
    expect(byPassword).toMatchObject({ status: 403, body: { code: 'sso_enforced' } });
    await sso.proveDomain(own, domain);
    const exchanged = expectStatus(await sso.exchange(await sso.signOn(provider, subject, own.orgId)), 200);
    expect(exchanged.body.user).toMatchObject({ email });
    const rows = await sso.testApp.query(`SELECT status, password_hash FROM user_account WHERE email = $1`, [email]);
    expect(rows).toEqual([{ status: 'active', password_hash: null }]);
  });

  it('creates one user when twenty first logins of an address run at the same time', async () => {
    const { own } = await another();
    const email = freshEmail('raced');
    const subject = account(email);
    const back = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { location, cookies } = await sso.start(own.orgId);
        return { cookies, location };
      }),
    );
    const urls: { url: string; cookies: Record<string, string> }[] = [];
    for (const { location, cookies } of back) urls.push({ url: await provider.signIn(location, subject), cookies });
    const callbacks = await Promise.all(urls.map(({ url, cookies }) => sso.callback(url, cookies)));
    for (const callback of callbacks) codeOf(callback);
    const users = await sso.testApp.query(`SELECT id FROM user_account WHERE email = $1`, [email]);
    expect(users).toHaveLength(1);
    const members = await sso.testApp.query(
      `SELECT m.id FROM organization_membership m JOIN user_account u ON u.id = m.user_id WHERE u.email = $1`,
      [email],
    );
    expect(members).toHaveLength(1);
  });

  it('stops creating users when who chose the role may no longer grant it', async () => {
    const { own } = await another();
    await sso.testApp.query(`UPDATE user_account SET status = 'disabled' WHERE id = $1`, [owner.userId]);
    try {
      expect(errorOf(await sso.signOn(provider, account(freshEmail()), own.orgId))).toBe('user_creation_failed');
    } finally {
      await sso.testApp.query(`UPDATE user_account SET status = 'active' WHERE id = $1`, [owner.userId]);
    }
  });
});
