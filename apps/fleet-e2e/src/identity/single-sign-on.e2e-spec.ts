import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import pg from 'pg';
import {
  ApiClient,
  CertifiedProvider,
  connectToFleet,
  eventually,
  inviteAndAccept,
  MailboxClient,
  partnerWithMfa,
  PASSWORD,
  SoftwareAuthenticator,
  type ApiResponse,
  type SignedIn,
} from '@rmm/testing';
import { must } from '../steps.js';

interface Tenant {
  owner: SignedIn;
  orgId: string;
  roleId: string;
}

const GUIDE = readFileSync(resolve(import.meta.dirname, '../../../../docs/guides/single-sign-on.md'), 'utf8');

/** Returns a JSON example of the guide. */
function exampleOf(preset: string, kind: 'settings' | 'claims'): Record<string, unknown> {
  const text = new RegExp(`\`\`\`json ${preset} ${kind}\\n([\\s\\S]*?)\`\`\``).exec(GUIDE)?.[1];
  if (text === undefined) throw new Error(`no ${kind} of ${preset} in the guide`);
  return JSON.parse(text) as Record<string, unknown>;
}

describe('single sign-on', () => {
  const fleet = connectToFleet();
  const mailbox = new MailboxClient(fleet.mailboxUrl);
  /** The origin of `PUBLIC_API_URL`: of callbacks, links and passkeys. */
  const publicUrl = fleet.baseUrl.replace('127.0.0.1', 'localhost');
  const callbackUrl = `${publicUrl}/api/v1/sso/callback`;
  let provider: CertifiedProvider;
  let tenant: Tenant;

  beforeAll(async () => {
    provider = await CertifiedProvider.start({ redirectUri: callbackUrl, postLogoutRedirectUri: `${publicUrl}/` });
    const owner = await partnerWithMfa(fleet);
    tenant = { owner, ...(await organization(owner)) };
  });
  afterAll(() => provider.stop());

  const organization = async ({ client }: SignedIn) => {
    const name = `Customer ${Date.now()}`;
    const { id: orgId } = must(await client.post('/orgs/organizations', { name }), 201) as { id: string };
    const permissions = [{ resource: 'devices', action: 'read' }];
    const role = await eventually(async () =>
      must(await client.post('/roles', { name: 'Staff', orgId, permissions }), 201),
    );
    return { orgId, roleId: role.id as string };
  };
  const create = async (orgId: string, roleId: string, more: object = {}, of = provider) => {
    const { client } = tenant.owner;
    const body = { orgId, name: 'Provider', issuer: of.issuer, defaultRoleId: roleId, ...more };
    const secrets = { clientId: CertifiedProvider.clientId, clientSecret: CertifiedProvider.clientSecret };
    const { data } = must(await client.post('/sso/providers', { ...body, ...secrets }), 201);
    must(await client.post(`/sso/providers/${data.id}/status`, { status: 'active' }), 200);
    return data.id as string;
  };
  /** Proves a domain in the database: the fleet asks name servers of the internet. */
  const proveDomain = async (orgId: string, domain: string) => {
    must(await tenant.owner.client.post('/sso/domains', { orgId, domain }), 201);
    const database = new pg.Client({ connectionString: fleet.databaseUrl });
    await database.connect();
    const statement = 'UPDATE identity.sso_domain SET verified_at = now() WHERE domain = $1';
    await database.query(statement, [domain]).finally(() => database.end());
  };
  /** Follows the redirects from the login route to the application like a browser. */
  const signOn = async (orgId: string, subject: string, of = provider, browser = new Map<string, string>()) => {
    const started = await fetch(`${fleet.baseUrl}/api/v1/sso/login/${orgId}`, { redirect: 'manual' });
    expect(started.status).toBe(302);
    const back = await of.signIn(started.headers.get('location') ?? '', subject, browser);
    const done = await fetch(back, { redirect: 'manual', headers: { cookie: cookiesOf(started) } });
    return { location: done.headers.get('location') ?? '', cookie: cookiesOf(done) };
  };
  const exchange = async ({ location, cookie }: { location: string; cookie: string }) => {
    const code = /#ssoCode=([A-Za-z0-9_-]{48})$/.exec(location)?.[1];
    if (!code) throw new Error(`no code in ${location}`);
    const response = await fetch(`${fleet.baseUrl}/api/v1/sso/exchange`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie },
      body: JSON.stringify({ code }),
    });
    expect(response.status).toBe(200);
    return (await response.json()) as { accessToken: string; user: { email: string } };
  };
  const account = (name: string) => {
    const email = `${name}-${Date.now()}@example.com`;
    const subject = `subject-${email}`;
    provider.accounts.set(subject, { email, email_verified: true, name: 'Uma User' });
    return { subject, email };
  };

  it.each(['azure-ad', 'okta', 'google', 'auth0'])('signs a new user in as the guide says: %s', async (preset) => {
    const { orgId, roleId } = await organization(tenant.owner);
    const settings = exampleOf(preset, 'settings');
    const claims = exampleOf(preset, 'claims');
    const known = ['sub', 'email', 'email_verified', 'name', 'groups'];
    const ofVendor = Object.keys(claims).filter((name) => !known.includes(name));
    const vendor = await CertifiedProvider.start({
      redirectUri: callbackUrl,
      issuerPath: (settings.issuer as string).endsWith('/') ? '/' : '',
      claims: { profile: ['name', ...ofVendor], groups: ['groups'] },
    });
    try {
      const domain = `${preset}-${Date.now()}.test`;
      const more: Record<string, unknown> = { ...settings, issuer: undefined, orgId: undefined };
      if (settings.allowedDomains) more.allowedDomains = domain;
      const id = await create(orgId, roleId, JSON.parse(JSON.stringify(more)) as object, vendor);
      const { data } = must(await tenant.owner.client.get(`/sso/providers/${id}`), 200);
      expect(data).toMatchObject({ preset, name: settings.name, issuer: vendor.issuer });
      const presets = must(await tenant.owner.client.get('/sso/presets'), 200).data as Record<string, unknown>[];
      const { scopes, attributeMapping } = presets.find((one) => one.id === preset) ?? {};
      expect(data).toMatchObject({ scopes, attributeMapping });

      const email = `uma@${domain}`;
      const subject = claims.sub as string;
      vendor.accounts.set(subject, { ...claims, email, ...(claims.hd ? { hd: domain } : {}) });
      if (claims.email_verified === undefined) {
        expect((await signOn(orgId, subject, vendor)).location).toMatch(/error=sso_domain_unverified$/);
        await proveDomain(orgId, domain);
      }
      const { accessToken, user } = await exchange(await signOn(orgId, subject, vendor));
      expect(user).toMatchObject({ email, name: 'Uma User' });
      const client = new ApiClient(fleet.baseUrl).as({ bearer: accessToken });
      expect(must(await client.get('/users/me'), 200)).toMatchObject({ email, orgId, scope: 'organization' });
      expect((await client.get('/users')).status).toBe(403);
    } finally {
      await vendor.stop();
    }
  });

  it('enforced by an organization closes its password, passkey and mail ways, and no way into another one', async () => {
    const { client } = tenant.owner;
    const [enforced, other] = [await organization(tenant.owner), await organization(tenant.owner)];
    const id = await create(enforced.orgId, enforced.roleId);
    const invite = { orgId: enforced.orgId, roleId: enforced.roleId };
    const only = await inviteAndAccept(fleet, client, invite);
    const both = await inviteAndAccept(fleet, client, invite);
    const second = { email: both.email, name: 'Robin', orgId: other.orgId, roleId: other.roleId };
    must(await client.post('/users/invite', second), 201);
    const token = await eventually(async () => {
      const mails = await mailbox.messages(both.email);
      const tokens = mails.flatMap(({ text }) => /accept-invite\?token=([\w-]+)/.exec(text)?.[1] ?? []);
      if (tokens.length < 2) throw new Error('no second link yet');
      return tokens[0];
    });
    must(await both.client.post('/auth/accept-invite', { token }), 200);
    const anonymous = () => new ApiClient(fleet.baseUrl);
    const login = ({ email }: SignedIn, more: object = {}) =>
      anonymous().post('/auth/login', { email, password: PASSWORD, ...more });
    const withPasskey = async (user: SignedIn) => {
      const authenticator = new SoftwareAuthenticator(publicUrl);
      const session = must(await login(user, { orgId: enforced.orgId }), 200);
      const signedIn = anonymous().as({ bearer: session.tokens.accessToken as string });
      const start = { currentPassword: PASSWORD };
      const { options } = must(await signedIn.post('/auth/passkeys/register/options', start), 200);
      const credential = authenticator.create(options as never);
      must(await signedIn.post('/auth/passkeys/register/verify', { credential }), 200);
      return async (more: object = {}) => {
        const started = must(await anonymous().post('/auth/passkeys/login/options', {}), 200);
        const response = authenticator.get(started.options as never);
        return anonymous().post('/auth/passkeys/login/verify', { credential: response, ...more });
      };
    };
    const [onlyPasskey, bothPasskey] = [await withPasskey(only), await withPasskey(both)];
    const tempToken = must(await login(only), 200).tempToken as string;

    must(await client.patch(`/sso/providers/${id}`, { enforceSSO: true }), 200);
    await eventually(async () => expect((await login(only)).status).toBe(401));
    expect((await onlyPasskey()).status).toBe(401);
    expect((await onlyPasskey({ orgId: enforced.orgId })).status).toBe(401);
    const step = await anonymous().post('/auth/mfa/passkey/options', { tempToken });
    expect([step.status, step.body.code]).toEqual([401, 'mfa_session_invalid']);

    const orgOf = async ({ body }: ApiResponse) => {
      const bearer = body.tokens.accessToken as string;
      return must(await anonymous().as({ bearer }).get('/users/me'), 200).orgId as string;
    };
    const entered = await bothPasskey();
    expect(await orgOf(entered)).toBe(other.orgId);
    const bearer = entered.body.tokens.accessToken as string;
    const switched = await anonymous().as({ bearer }).post('/auth/switch', { orgId: enforced.orgId });
    expect([switched.status, switched.body.code]).toEqual([403, 'sso_enforced']);
    expect((await bothPasskey({ orgId: enforced.orgId })).status).toBe(401);
    expect((await login(both, { orgId: enforced.orgId })).status).toBe(401);
    expect(must(await login(both), 200).mfaRequired).toBe(true);
    for (const { email } of [only, both]) must(await anonymous().post('/auth/forgot-password', { email }), 200);
    const resets = async ({ email }: SignedIn) =>
      (await mailbox.messages(email)).filter(({ text }) => text.includes('/reset-password')).length;
    await eventually(async () => expect(await resets(both)).toBe(1));
    expect(await resets(only)).toBe(0);
    must(await login(tenant.owner), 200); // the partner's staff
  });

  it('returns to the login page with a code, and signs no user in', async () => {
    const { orgId, roleId } = await organization(tenant.owner);
    const id = await create(orgId, roleId, { allowedDomains: 'other.test' });
    const { subject } = account('stranger');
    expect((await signOn(orgId, subject)).location).toMatch(/\/login\?error=domain_not_allowed$/);
    must(await tenant.owner.client.patch(`/sso/providers/${id}`, { allowedDomains: '', autoProvision: false }), 200);
    expect((await signOn(orgId, subject)).location).toMatch(/\/login\?error=user_not_found$/);
    await eventually(async () => {
      const entries = must(await tenant.owner.client.get('/audit-logs?action=sso.callback.rejected'), 200);
      const codes = (entries.data as { details: { code: string } }[]).map(({ details }) => details.code);
      expect(codes).toEqual(expect.arrayContaining(['domain_not_allowed', 'user_not_found']));
    });
    const forged = await fetch(`${callbackUrl}?code=x&state=y`, { redirect: 'manual' });
    expect(forged.headers.get('location')).toMatch(/\/login\?error=session_invalid$/);
  });

  it('ends sessions when the user signs out at the provider', async () => {
    const { orgId, roleId } = await organization(tenant.owner);
    const id = await create(orgId, roleId);
    const logoutUri = `${fleet.baseUrl}/api/v1/sso/backchannel-logout/${id}`;
    const notifying = await CertifiedProvider.start({ redirectUri: callbackUrl, backchannelLogoutUri: logoutUri });
    try {
      must(await tenant.owner.client.patch(`/sso/providers/${id}`, { issuer: notifying.issuer }), 200);
      const { subject, email } = account('leaver');
      notifying.accounts.set(subject, { email, email_verified: true });
      const browser = new Map<string, string>();
      const { accessToken } = await exchange(await signOn(orgId, subject, notifying, browser));
      const client = new ApiClient(fleet.baseUrl).as({ bearer: accessToken });
      must(await client.get('/users/me'), 200);
      await notifying.signOut(browser);
      await eventually(async () => expect((await client.get('/users/me')).status).toBe(401));
    } finally {
      await notifying.stop();
    }
  });

  it('is managed by no user without sso:admin, and in no other tenant', async () => {
    const id = await create(tenant.orgId, tenant.roleId);
    const stranger = await partnerWithMfa(fleet);
    expect((await stranger.client.get(`/sso/providers/${id}`)).status).toBe(404);
    expect((await stranger.client.patch(`/sso/providers/${id}`, { name: 'Mine' })).status).toBe(404);
    expect((await stranger.client.delete(`/sso/providers/${id}`)).status).toBe(404);
    expect((await stranger.client.get('/sso/providers/nonsense')).status).toBe(404);
    const { subject } = account('member');
    const { accessToken } = await exchange(await signOn(tenant.orgId, subject));
    const member = new ApiClient(fleet.baseUrl).as({ bearer: accessToken });
    must(await member.get(`/sso/providers/${id}`), 200);
    const refused = await member.delete(`/sso/providers/${id}`);
    expect([refused.status, refused.body.code]).toEqual([403, 'permission_denied']);
    expect((await new ApiClient(fleet.baseUrl).get('/sso/providers')).status).toBe(401);
  });
});

const cookiesOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
