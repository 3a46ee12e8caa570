import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Browser } from 'playwright-core';
import {
  ApiClient,
  connectToFleet,
  enrollTotp,
  eventually,
  type FleetHandle,
  MailboxClient,
  PASSWORD,
  registerPartner,
  type SignedIn,
  totpCode,
} from '@rmm/testing';
import { must } from '../steps.js';
import { describeInBrowser, launchChromium, pagesOf, Visitor } from './chromium.js';

const NEW_PASSWORD = 'another-horse-battery-8';
const HOSTILE = '<img src=x onerror=alert(1)> & Sons';

/** Makes the proofs of the sessions of a user an hour old. */
async function ageProofs({ databaseUrl }: FleetHandle, userId: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const old = `now() - INTERVAL '1 hour'`;
  const statement = `UPDATE identity.session_family SET factor_proof_at = ${old}, password_proof_at = ${old} WHERE user_id = $1`;
  await client.query(statement, [userId]).finally(() => client.end());
}

describeInBrowser('the account pages', () => {
  const fleet = connectToFleet();
  const mailbox = new MailboxClient(fleet.mailboxUrl);
  let browser: Browser;
  let visitor: Visitor;

  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  beforeEach(async () => {
    visitor = await Visitor.start(browser, fleet);
  });
  afterEach(async () => {
    const { problems } = visitor;
    await visitor.close();
    expect(problems).toEqual([]);
  });

  const freshEmail = () => `visitor-${randomBytes(5).toString('hex')}@users.test`;

  /** Waits for a mail with a link. @returns the link of the newest one whose subject fits */
  const linkOf = (email: string, subject: RegExp): Promise<string> =>
    eventually(async () => {
      const mail = (await mailbox.messages(email)).find((one) => subject.test(one.subject));
      const link = mail && /https?:\/\/\S+token=[\w-]+\S*/.exec(mail.text)?.[0];
      if (!link) throw new Error(`no mail with a link for ${email}`);
      expect(mail.html).toContain(link.replaceAll('&', '&amp;'));
      return link;
    });

  const roleOf = async ({ client }: SignedIn, wanted: string) => {
    const { data } = must(await client.get('/users/roles?limit=100'), 200);
    return (data as { id: string; name: string }[]).find(({ name }) => name === wanted)?.id ?? '';
  };

  const invite = async (partner: SignedIn, email: string) => {
    const roleId = await roleOf(partner, 'Partner Viewer');
    must(await partner.client.post('/users/invite', { email, name: 'Robin <b>User</b>', roleId }), 201);
    return linkOf(email, /invited/);
  };

  it('lead from the mailed invitation to a signed-in page, and show hostile names as text', async () => {
    const partner = await registerPartner(fleet, HOSTILE);
    const email = freshEmail();
    await invite(partner, email);
    await visitor.openFromMailbox(email, 'Accept invitation');
    expect(await visitor.text('dd [data-value="tenant"]')).toBe(HOSTILE);
    expect(await visitor.page.inputValue('#name')).toBe('Robin <b>User</b>');
    await visitor.submit('new-account', { name: 'Robin User', password: 'password' });
    await visitor.sees('too easy to guess');
    await visitor.submit('new-account', { password: PASSWORD });
    await visitor.arrive('security');
    await visitor.sees('The invitation is accepted');
    expect(await visitor.text('[data-value="email"]')).toBe(email);
    expect(await visitor.text('[data-value="tenant"]')).toBe(HOSTILE);
    expect(visitor.page.url()).not.toContain('token');
  });

  it('accept an invitation with an existing account, its password and its factor', async () => {
    const partner = await registerPartner(fleet);
    const existing = await registerPartner(fleet);
    const { secret } = await enrollTotp(existing.client);
    await visitor.open(await invite(partner, existing.email));
    await visitor.submit('existing-account', { password: PASSWORD });
    await visitor.sees('Open your authenticator app');
    await visitor.submit('totp', { code: totpCode(secret, 1) });
    await visitor.arrive('security');
    await visitor.sees('The invitation is accepted');
    expect(await visitor.text('[data-value="role"]')).toBe('Partner Viewer');
  });

  it('say when an invitation was accepted or is unknown', async () => {
    await visitor.open(`accept-invite?token=${'x'.repeat(48)}`);
    await visitor.sees('This link no longer works');
    await visitor.open('accept-invite');
    await visitor.sees('This link no longer works');
  });

  it('sign up a company', async () => {
    const email = freshEmail();
    await visitor.open('login');
    await visitor.page.click('a[href="sign-up"]');
    await visitor.ready();
    await visitor.page.check('[name="acceptTerms"]');
    await visitor.submit('sign-up', { companyName: 'Example MSP', name: 'Sam Owner', email, password: PASSWORD });
    await visitor.sees('Check your mailbox');
    const link = await linkOf(email, /Confirm/);
    await visitor.open(link);
    await visitor.submit('verify-email');
    await visitor.sees('Welcome!');
    await visitor.sees('Example MSP');
    await visitor.page.click('a[href="security"]:visible');
    await visitor.arrive('security');
    expect(await visitor.text('[data-value="name"]')).toBe('Sam Owner');
    await visitor.open(link);
    await visitor.submit('verify-email');
    await visitor.sees('This link no longer works');
  });

  it('set a forgotten password', async () => {
    const user = await registerPartner(fleet);
    await visitor.open('login');
    await visitor.page.click('a[href="forgot-password"]');
    await visitor.ready();
    await visitor.submit('forgot-password', { email: user.email });
    await visitor.sees('a link is on its way');
    await visitor.open(await linkOf(user.email, /new password/));
    await visitor.submit('reset-password', { password: NEW_PASSWORD });
    await visitor.sees('Your password is set');
    await visitor.signIn(user.email, PASSWORD);
    await visitor.sees('E-mail address or password is wrong');
    await visitor.submit('login', { email: user.email, password: NEW_PASSWORD });
    await visitor.arrive('security');
  });

  it('set up an authenticator app, sign in with its code, and with a recovery code', async () => {
    const user = await registerPartner(fleet);
    await visitor.signIn(user.email, PASSWORD);
    await visitor.arrive('security');
    await visitor.page.click('#totp-start');
    await visitor.page.waitForSelector('#totp-qr[src^="data:image/png"]');
    const secret = (await visitor.text('[data-value="secret"]')).replaceAll(' ', '');
    await visitor.submit('totp-enable', { code: '000000' });
    await visitor.sees('The code is wrong');
    await visitor.submit('totp-enable', { code: totpCode(secret) });
    await visitor.sees('Your recovery codes');
    const codes = await visitor.page.locator('[data-list="codes"] li').allInnerTexts();
    expect(codes).toHaveLength(10);
    await visitor.page.click('#codes-close');
    expect(await visitor.text('[data-state="totp"]')).toBe('On');
    await visitor.page.click('#sign-out');
    await visitor.arrive('login');
    await visitor.sees('You are signed out');

    await visitor.submit('login', { email: user.email, password: PASSWORD });
    await visitor.submit('totp', { code: totpCode(secret, 1) });
    await visitor.arrive('security');
    await visitor.page.click('#sign-out');
    await visitor.arrive('login');

    await visitor.submit('login', { email: user.email, password: PASSWORD });
    await visitor.page.click('details:has(form[data-form="recovery"]) summary');
    await visitor.submit('recovery', { code: codes[0] ?? '' });
    await visitor.arrive('security');
    expect(await visitor.text('[data-value="recoveryCodesLeft"]')).toBe('9');
  });

  it('turn off the second factor', async () => {
    const user = await registerPartner(fleet);
    const { recoveryCodes } = await enrollTotp(user.client);
    await visitor.signIn(user.email, PASSWORD);
    await visitor.page.click('details:has(form[data-form="recovery"]) summary');
    await visitor.submit('recovery', { code: recoveryCodes[0] ?? '' });
    await visitor.arrive('security');
    await visitor.page.click('#disable-mfa summary');
    await visitor.submit('disable-mfa', { currentPassword: PASSWORD, code: recoveryCodes[1] ?? '' });
    await visitor.sees('Two-step sign-in is off');
    expect(await visitor.text('[data-state="totp"]')).toBe('Off');
  });

  it('ask for the factor again before a change when the last proof is old', async () => {
    const user = await registerPartner(fleet);
    const { recoveryCodes } = await enrollTotp(user.client);
    await visitor.signIn(user.email, PASSWORD);
    await visitor.page.click('details:has(form[data-form="recovery"]) summary');
    await visitor.submit('recovery', { code: recoveryCodes[0] ?? '' });
    await visitor.arrive('security');
    await ageProofs(fleet, user.userId);
    await visitor.page.click('#recovery-replace');
    await visitor.sees('Before this change we need your second factor again');
    await visitor.page.click('#step-up-cancel');
    await visitor.sees('The change was cancelled');
    await visitor.page.click('#recovery-replace');
    await visitor.submit('step-up', { code: 'ZZZZ-ZZZZ' });
    await visitor.sees('The code is wrong');
    await visitor.submit('step-up', { code: recoveryCodes[1] ?? '' });
    await visitor.sees('Your recovery codes');
    expect(await visitor.page.locator('[data-list="codes"] li').allInnerTexts()).not.toContain(recoveryCodes[2]);
  });

  it('end this session only with sign-out', async () => {
    const user = await registerPartner(fleet);
    await visitor.signIn(user.email, PASSWORD);
    await visitor.arrive('security');
    await visitor.page.click('#sign-out');
    await visitor.arrive('login');
    await visitor.open('security').catch(() => undefined);
    await visitor.arrive('login');
    must(await user.client.get('/auth/me'), 200);
  });

  it('end another session, and all others', async () => {
    const user = await registerPartner(fleet);
    const login = { email: user.email, password: PASSWORD };
    const other = must(await new ApiClient(fleet.baseUrl).post('/auth/login', login), 200);
    await visitor.signIn(user.email, PASSWORD);
    await visitor.arrive('security');
    const entries = visitor.page.locator('[data-list="sessions"] > li');
    expect(await entries.count()).toBe(3);
    const current = visitor.page.locator('.badge:visible');
    await entries.filter({ hasNot: current }).first().getByRole('button').click();
    await visitor.sees('The session has ended');
    expect(await entries.count()).toBe(2);
    await visitor.page.click('#end-others');
    await visitor.sees('All other sessions have ended');
    expect(await entries.count()).toBe(1);
    const client = new ApiClient(fleet.baseUrl, { bearer: other.tokens.accessToken as string });
    await eventually(async () => must(await client.get('/auth/me'), 401));
    await visitor.open('security');
    expect(await visitor.text('[data-value="email"]')).toBe(user.email);
  });

  it('switch to another organization', async () => {
    const partner = await registerPartner(fleet, 'Second Partner');
    const user = await registerPartner(fleet, 'First Partner');
    await visitor.signIn(user.email, PASSWORD);
    await visitor.arrive('security');
    await visitor.open(await invite(partner, user.email));
    await visitor.page.click('#accept-signed-in');
    await visitor.arrive('security');
    expect(await visitor.text('[data-value="tenant"]')).toBe('Second Partner');
    await visitor.page.click('#switch-link a');
    await visitor.arrive('switch');
    await visitor.page.getByRole('button', { name: 'Switch to First Partner' }).click();
    await visitor.arrive('security');
    await visitor.sees('You have switched');
    expect(await visitor.text('[data-value="tenant"]')).toBe('First Partner');
  });

  it('change the password and the address', async () => {
    const user = await registerPartner(fleet);
    await visitor.signIn(user.email, PASSWORD);
    await visitor.arrive('security');
    const email = freshEmail();
    await visitor.page.click('details:has(form[data-form="change-email"]) summary');
    await visitor.submit('change-email', { email, currentPassword: PASSWORD });
    await visitor.sees(`We sent a link to ${email}`);
    await visitor.open(await linkOf(email, /new e-mail address/));
    await visitor.submit('verify-email');
    await visitor.sees('Your address was changed');
    await visitor.signIn(email, PASSWORD);
    await visitor.arrive('security');
    await visitor.page.click('details:has(form[data-form="change-password"]) summary');
    await visitor.submit('change-password', { currentPassword: 'wrong-password', newPassword: NEW_PASSWORD });
    await visitor.sees('The current password is wrong');
    await visitor.submit('change-password', { currentPassword: PASSWORD, newPassword: NEW_PASSWORD });
    await visitor.arrive('login');
    await visitor.sees('Your password was changed');
  });

  it('lead a signed-out user to sign-in and back, and nowhere else', async () => {
    const user = await registerPartner(fleet);
    await visitor.page.goto(`${pagesOf(fleet)}/switch`);
    await visitor.arrive('login');
    await visitor.submit('login', { email: user.email, password: PASSWORD });
    await visitor.arrive('switch');
    await visitor.context.clearCookies();
    for (const target of ['https://evil.example/', '//evil.example', 'javascript:alert(1)', '/../../docs']) {
      await visitor.open(`login?returnTo=${encodeURIComponent(target)}`);
      await visitor.submit('login', { email: user.email, password: PASSWORD });
      await visitor.arrive('security');
      await visitor.context.clearCookies();
    }
  });

  it('keep no token in storage, and the refresh token out of reach of scripts', async () => {
    const user = await registerPartner(fleet);
    await visitor.signIn(user.email, PASSWORD);
    await visitor.arrive('security');
    const stored = await visitor.page.evaluate<string>(
      'JSON.stringify([localStorage, sessionStorage, document.cookie])',
    );
    expect(stored).not.toMatch(/refresh_token|eyJ/);
    const cookies = await visitor.context.cookies();
    const refresh = cookies.filter(({ name }) => name === 'service_refresh_token');
    expect((await visitor.context.cookies(`${pagesOf(fleet)}/login`)).map(({ name }) => name)).not.toContain(
      'service_refresh_token',
    );
    expect(refresh).toEqual([expect.objectContaining({ httpOnly: true, path: '/api/v1/auth' })]);
  });

  it('speak the language of the browser until the visitor switches', async () => {
    const german = await Visitor.start(browser, fleet, { locale: 'de-CH' });
    await german.open('login');
    await german.sees('Passwort vergessen?');
    await german.submit('login', { email: freshEmail(), password: 'x' });
    await german.sees('E-Mail-Adresse oder Passwort ist falsch.');
    await german.page.click('nav a[lang="en"]');
    await german.ready();
    await german.sees('Forgot your password?');
    await german.open('sign-up');
    await german.sees('Create account');
    expect(german.problems).toEqual([]);
    await german.close();
  });

  it('show a page for addresses that do not exist', async () => {
    await visitor.open('no-such-page');
    await visitor.sees('Page not found');
    await visitor.page.getByRole('link', { name: 'Go to sign-in' }).click();
    await visitor.arrive('login');
  });

  describe('without JavaScript', () => {
    let plain: Visitor;

    beforeEach(async () => {
      plain = await Visitor.start(browser, fleet, { javaScriptEnabled: false });
    });
    afterEach(() => plain.close());

    const open = (target: string) =>
      plain.page.goto(target.startsWith('http') ? target : `${pagesOf(fleet)}/${target}`);

    it.each(['login', 'security', 'switch'])('say that %s needs it, and send nothing', async (page) => {
      await open(page);
      expect(await plain.text('noscript p')).toContain('These pages need JavaScript');
      expect(await plain.page.locator('button:enabled').count()).toBe(0);
    });

    it.each(['sign-up', 'accept-invite?token=x', 'verify-email?token=x', 'forgot-password', 'reset-password?token=x'])(
      'show the form of %s and nothing else',
      async (page) => {
        await open(page);
        expect(await plain.page.locator('form:visible').count()).toBe(1);
        expect(await plain.page.locator('form:visible button:enabled').count()).toBe(1);
        expect(await plain.page.getByText('These pages need JavaScript').count()).toBe(0);
        expect(await plain.page.getByText('One moment').filter({ visible: true }).count()).toBe(0);
      },
    );

    it('register a company and confirm its address', async () => {
      const email = freshEmail();
      await open('sign-up');
      await plain.page.check('[name="acceptTerms"]');
      await plain.submit('sign-up', { companyName: 'Plain Forms', name: 'Pat', email, password: 'password' });
      await plain.sees('too easy to guess');
      expect(await plain.page.inputValue('#company')).toBe('Plain Forms');
      await plain.page.check('[name="acceptTerms"]');
      await plain.submit('sign-up', { password: PASSWORD });
      await plain.sees(email);
      const link = await linkOf(email, /confirm/i);
      await open(link);
      await plain.submit('verify-email');
      await plain.sees('Your company is registered');
      expect((await plain.context.cookies()).map(({ name }) => name)).toContain('service_refresh_token');
      await open(link);
      await plain.submit('verify-email');
      await plain.sees('This link no longer works');
    });

    it('accept an invitation with a new account', async () => {
      const email = freshEmail();
      await open(await invite(await registerPartner(fleet), email));
      await plain.submit('accept', { name: 'Robin', password: 'password' });
      expect(await plain.text('[role="alert"]')).toContain('too easy to guess');
      expect(await plain.page.inputValue('form:visible [name="name"]')).toBe('Robin');
      await plain.submit('accept', { password: PASSWORD });
      await plain.sees('You can sign in.');
      await visitor.signIn(email, PASSWORD);
      await visitor.arrive('security');
    });

    it('accept an invitation with the password and the factor of an existing account', async () => {
      const existing = await registerPartner(fleet);
      const { secret } = await enrollTotp(existing.client);
      await open(await invite(await registerPartner(fleet), existing.email));
      await plain.submit('accept', { password: PASSWORD });
      await plain.submit('accept-code', { code: '000000' });
      await plain.sees('The code is wrong');
      await plain.submit('accept-code', { code: totpCode(secret, 1) });
      await plain.sees('You can sign in.');
    });

    it('replace a forgotten password', async () => {
      const { email } = await registerPartner(fleet);
      await open('forgot-password');
      await plain.submit('forgot-password', { email });
      await plain.sees('If this address has an account');
      await open(await linkOf(email, /password/i));
      await plain.submit('reset-password', { password: NEW_PASSWORD });
      await plain.sees('Sign in with your new password.');
    });
  });
});
