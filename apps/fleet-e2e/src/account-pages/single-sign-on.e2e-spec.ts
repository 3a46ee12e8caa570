import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Browser } from 'playwright-core';
import {
  CertifiedProvider,
  connectToFleet,
  eventually,
  inviteAndAccept,
  MailboxClient,
  partnerWithMfa,
  PASSWORD,
  type ProviderAccount,
  type SignedIn,
} from '@rmm/testing';
import { must } from '../steps.js';
import { describeInBrowser, launchChromium, pagesOf, Visitor } from './chromium.js';

/** One code of each group of failed callbacks; a spec of identity compares the texts of all. */
const CODES = {
  session_invalid: 'start again here',
  session_expired: 'Please try again',
  provider_not_found: 'is not available any more',
  default_role_required: 'not set up completely',
  sso_provider_unverified: 'could not be verified',
  user_not_found: 'no account here yet',
  no_org_access: 'You are not a member',
  domain_not_allowed: 'Your e-mail domain',
  sso_email_unverified: 'has not verified your e-mail address',
  sso_link_required: 'Sign in with your password first',
  identity_in_use: 'connected to another account',
  user_creation_failed: 'could not be created',
  rate_limited: 'wait a few minutes',
  an_unknown_code: 'The sign-in did not work (an_unknown_code)',
};

interface Tenant {
  orgId: string;
  roleId: string;
  providerId: string;
  /** Proven. */
  domain: string;
}

describeInBrowser('single sign-on on the account pages', () => {
  const fleet = connectToFleet();
  const suffix = () => randomBytes(5).toString('hex');
  let browser: Browser;
  let visitor: Visitor;
  let provider: CertifiedProvider;
  let owner: SignedIn;
  let tenant: Tenant;

  beforeAll(async () => {
    const origin = pagesOf(fleet).replace(/\/account$/, '');
    [browser, provider] = await Promise.all([
      launchChromium(),
      CertifiedProvider.start({ redirectUri: `${origin}/api/v1/sso/callback`, form: true }),
    ]);
    owner = await partnerWithMfa(fleet);
    tenant = await createTenant();
  });
  afterAll(() => Promise.all([browser.close(), provider.stop()]));

  beforeEach(async () => {
    visitor = await Visitor.start(browser, fleet);
  });
  afterEach(async () => {
    const { problems } = visitor;
    await visitor.close();
    expect(problems).toEqual([]);
  });

  const query = async (text: string, values: unknown[]) => {
    const client = new pg.Client({ connectionString: fleet.databaseUrl });
    await client.connect();
    await client.query(text, values).finally(() => client.end());
  };

  const createTenant = async (settings: object = {}): Promise<Tenant> => {
    const { client } = owner;
    const { id: orgId } = must(await client.post('/orgs/organizations', { name: `Customer ${suffix()}` }), 201);
    const permissions = [{ resource: 'devices', action: 'read' }];
    const role = await eventually(async () =>
      must(await client.post('/roles', { name: 'Staff', orgId, permissions }), 201),
    );
    const { clientId, clientSecret } = CertifiedProvider;
    const body = { orgId, name: 'Contoso', issuer: provider.issuer, clientId, clientSecret, defaultRoleId: role.id };
    const { data } = must(await client.post('/sso/providers', { ...body, ...settings }), 201);
    must(await client.post(`/sso/providers/${data.id}/status`, { status: 'active' }), 200);
    const domain = `d${suffix()}.test`;
    must(await client.post('/sso/domains', { orgId, domain }), 201);
    // The name server of the machine knows no such domain: its proof is shown by specs of identity.
    await query('UPDATE identity.sso_domain SET verified_at = now() WHERE domain = $1', [domain]);
    return { orgId: orgId as string, roleId: role.id as string, providerId: data.id as string, domain };
  };
  const enforce = async ({ providerId }: Tenant, enforceSSO = true) =>
    must(await owner.client.patch(`/sso/providers/${providerId}`, { enforceSSO }), 200);
  const accountOf = (email: string): ProviderAccount & { sub: string } => ({
    ...{ sub: `sub-${email}`, email, email_verified: true, name: 'Uma User' },
  });
  /** Fills the form of the provider, which leads back. */
  const signInAtProvider = async (account: ProviderAccount) => {
    await visitor.page.waitForURL((url) => url.href.startsWith(provider.issuer));
    await visitor.page.fill('[name="account"]', JSON.stringify(account));
    await visitor.page.click('button');
  };
  const discoverBy = async (email: string) => {
    await visitor.open('login');
    await visitor.page.click('#sso-start');
    await visitor.submit('sso', { email });
  };

  it('leads from an e-mail address to the provider, and back to a signed-in page', async () => {
    await enforce(tenant);
    const email = `new@${tenant.domain}`;
    await discoverBy(email);
    await signInAtProvider(accountOf(email));
    await visitor.arrive('security');
    expect(await visitor.text('[data-value="email"]')).toBe(email);
    expect(await visitor.text('[data-value="role"]')).toBe('Staff');
    await visitor.screenshot('sso-signed-in');
    expect(visitor.page.url()).not.toMatch(/ssoCode|code=/);
    await visitor.page.goBack();
    await visitor.page.waitForLoadState();
    expect(visitor.page.url()).not.toMatch(/ssoCode/);
    await enforce(tenant, false);
  });

  it('says when no single sign-on is known for an address, and offers the one of a named organization', async () => {
    await discoverBy(`user@${suffix()}.test`);
    await visitor.sees('No single sign-on was found for this address');
    await visitor.open(`login?orgId=${tenant.orgId}`);
    await visitor.page.getByRole('button', { name: 'Continue with Contoso' }).click();
    const email = `named@${tenant.domain}`;
    await signInAtProvider(accountOf(email));
    await visitor.arrive('security');
    expect(await visitor.text('[data-value="email"]')).toBe(email);
  });

  it('links an identity on the security page, signs in with it, and removes it', async () => {
    const member = await inviteAndAccept(fleet, owner.client, { orgId: tenant.orgId, roleId: tenant.roleId });
    await visitor.signIn(member.email, PASSWORD);
    await visitor.arrive('security');
    await visitor.submit('sso-link', { currentPassword: 'wrong-password' });
    await visitor.sees('The current password is wrong');
    await visitor.submit('sso-link', { currentPassword: PASSWORD });
    const account = { ...accountOf(member.email), email: 'other-address@elsewhere.test' };
    await signInAtProvider(account);
    await visitor.arrive('security');
    await visitor.sees('Single sign-on is connected to your account');
    const entries = visitor.page.locator('[data-list="identities"] > li');
    expect(await entries.count()).toBe(1);
    await visitor.screenshot('sso-linked');
    await visitor.page.click('#sign-out');
    await visitor.arrive('login');

    await visitor.open(`login?orgId=${tenant.orgId}`);
    await visitor.page.getByRole('button', { name: 'Continue with Contoso' }).click();
    await visitor.page.waitForURL((url) => !url.href.startsWith(`${pagesOf(fleet)}/login`));
    if (visitor.page.url().startsWith(provider.issuer)) await signInAtProvider(account);
    await visitor.arrive('security');
    expect(await visitor.text('[data-value="email"]')).toBe(member.email);
    await visitor.page.getByRole('button', { name: 'Remove connection to Contoso' }).click();
    await visitor.sees('Contoso');
    await visitor.screenshot('sso-unlink');
    await visitor.submit('sso-unlink', { currentPassword: PASSWORD });
    await visitor.sees('The connection was removed');
    expect(await entries.count()).toBe(0);
    const mails = await eventually(async () => {
      const subjects = (await new MailboxClient(fleet.mailboxUrl).messages(member.email)).map(({ subject }) => subject);
      expect(subjects).toEqual(expect.arrayContaining(['Single sign-on was removed from your account']));
      return subjects;
    });
    expect(mails).toContain('Single sign-on was connected to your account');
  });

  it('says that single sign-on is enforced, and leads there from the password form', async () => {
    const own = await createTenant();
    const member = await inviteAndAccept(fleet, owner.client, { orgId: own.orgId, roleId: own.roleId });
    const email = `member@${own.domain}`;
    await query('UPDATE identity.user_account SET email = $2 WHERE id = $1', [member.userId, email]);
    await enforce(own);
    await visitor.signIn(email, PASSWORD);
    await visitor.sees('Your organization requires single sign-on. Continue with Contoso.');
    await visitor.screenshot('sso-enforced');
    expect(await visitor.accessibilityProblems()).toEqual([]);
    const button = visitor.page.getByRole('button', { name: 'Continue with Contoso' });
    await visitor.submit('login', { email, password: 'another-wrong-one' });
    await visitor.sees('Your organization requires single sign-on');
    expect(await button.count()).toBe(1);
    await button.click();
    await signInAtProvider(accountOf(email));
    await visitor.arrive('security');
    expect(await visitor.text('[data-value="email"]')).toBe(email);
    await visitor.page.click('details:has(form[data-form="change-password"]) summary');
    await visitor.submit('change-password', { currentPassword: PASSWORD, newPassword: 'another-horse-battery-8' });
    await visitor.sees('Your organization requires single sign-on.');
  });

  it('lets an account without a password add and delete a passkey after it signed in at the provider again', async () => {
    const email = `passwordless@${tenant.domain}`;
    await visitor.addAuthenticator();
    await visitor.open(`login?orgId=${tenant.orgId}`);
    await visitor.page.getByRole('button', { name: 'Continue with Contoso' }).click();
    await signInAtProvider(accountOf(email));
    await visitor.arrive('security');
    await visitor.page.click('#passkey-add summary');
    expect(await visitor.page.isVisible('#passkey-password')).toBe(false);
    await visitor.submit('passkey-add', { name: 'Laptop' });
    await visitor.sees('Please confirm with single sign-on again');
    const confirm = async () => {
      await visitor.page.click('#sso-reauth');
      await signInAtProvider(accountOf(email));
      await visitor.arrive('security');
      await visitor.sees('Confirmed. You can make your change');
    };
    await confirm();
    expect(visitor.page.url()).not.toContain('ssoReauthGrant');
    await visitor.page.click('#passkey-add summary');
    await visitor.submit('passkey-add', { name: 'Laptop' });
    await visitor.sees('Your recovery codes');
    await visitor.page.click('#codes-close');
    expect(await visitor.text('[data-state="passkeys"]')).toBe('On');
    await confirm();
    await visitor.page.getByRole('button', { name: 'Edit passkey Laptop' }).click();
    await visitor.submit('passkey-delete');
    await visitor.sees('The passkey was deleted');
  });

  it('explains failed sign-ins, by what the visitor can do', async () => {
    for (const [code, text] of Object.entries(CODES)) {
      await visitor.open(`login?error=${code}`);
      expect(await visitor.text('#status')).toContain(text);
    }
    expect(await visitor.accessibilityProblems()).toEqual([]);
  });

  it('explains a failed sign-in without a script too', async () => {
    const plain = await Visitor.start(browser, fleet, { javaScriptEnabled: false });
    await plain.page.goto(`${pagesOf(fleet)}/login?error=user_not_found`);
    expect(await plain.text('#status')).toContain('no account here yet');
    await plain.sees(/JavaScript/);
    await plain.close();
  });

  it('shows a hostile code as text', async () => {
    await visitor.open(`login?error=${encodeURIComponent('<img src=x onerror=alert(1)>')}`);
    expect(await visitor.text('#status')).toContain('<img src=x onerror=alert(1)>');
    expect(await visitor.page.locator('#status img').count()).toBe(0);
  });

  it('shows the refusal of an identity whose address the provider has not verified', async () => {
    await visitor.open(`login?orgId=${tenant.orgId}`);
    await visitor.page.getByRole('button', { name: 'Continue with Contoso' }).click();
    await signInAtProvider({ ...accountOf(`x@${tenant.domain}`), email_verified: false });
    await visitor.arrive('login');
    await visitor.sees('Your provider has not verified your e-mail address');
    await visitor.screenshot('sso-refused');
  });
});
