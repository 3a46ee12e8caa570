import { randomInt } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { connectToFleet, eventually, MailboxClient, PASSWORD, registerPartner } from '@rmm/testing';
import { describeInBrowser, launchChromium, Visitor } from './chromium.js';

describeInBrowser('the account pages for passkeys and text messages', () => {
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
    await visitor.close();
    expect(visitor.problems).toEqual([]);
  });

  it('add a passkey, sign in with it alone, rename it and delete it', async () => {
    const user = await registerPartner(fleet);
    await visitor.addAuthenticator();
    await visitor.signIn(user.email, PASSWORD);
    await visitor.arrive('security');
    await visitor.page.click('#passkey-add summary');
    await visitor.submit('passkey-add', { name: 'Laptop <1>', currentPassword: PASSWORD });
    await visitor.sees('Your recovery codes');
    await visitor.page.click('#codes-close');
    expect(await visitor.text('[data-list="passkeys"] [data-value="passkey"]')).toBe('Laptop <1>');
    await visitor.screenshot('passkeys');
    await visitor.page.click('#sign-out');
    await visitor.arrive('login');

    await visitor.page.click('#passkey-sign-in');
    await visitor.arrive('security');
    expect(await visitor.text('[data-value="email"]')).toBe(user.email);
    await visitor.page.getByRole('button', { name: 'Edit passkey Laptop <1>' }).click();
    expect(await visitor.accessibilityProblems()).toEqual([]);
    await visitor.submit('passkey-rename', { name: 'Phone' });
    await visitor.sees('The passkey was renamed');
    await visitor.page.getByRole('button', { name: 'Edit passkey Phone' }).click();
    await visitor.submit('passkey-delete', { currentPassword: PASSWORD });
    await visitor.sees('The passkey was deleted');
    expect(await visitor.text('[data-state="passkeys"]')).toBe('Off');
  });

  it('use a passkey as the second step after the password', async () => {
    const user = await registerPartner(fleet);
    await visitor.addAuthenticator();
    await visitor.signIn(user.email, PASSWORD);
    await visitor.arrive('security');
    await visitor.page.click('#passkey-add summary');
    await visitor.submit('passkey-add', { currentPassword: PASSWORD });
    await visitor.page.click('#codes-close');
    await visitor.page.click('#sign-out');
    await visitor.arrive('login');
    await visitor.submit('login', { email: user.email, password: PASSWORD });
    await visitor.page.click('#use-passkey');
    await visitor.arrive('security');
    expect(await visitor.text('[data-state="passkeys"]')).toBe('On');
  });

  it('say so when no passkey fits', async () => {
    await visitor.addAuthenticator();
    await visitor.open('login');
    await visitor.page.click('#passkey-sign-in');
    await visitor.sees('The passkey was not used');
  });

  it('set up text messages and sign in with a code', async () => {
    const user = await registerPartner(fleet);
    const phoneNumber = `+4179${randomInt(1_000_000, 9_999_999)}`;
    const codeSent = (earlier = '') =>
      eventually(async () => {
        const [message] = await mailbox.messages(phoneNumber);
        const code = message && /\b\d{6}\b/.exec(message.text)?.[0];
        if (!code || code === earlier) throw new Error('no code yet');
        return code;
      });
    await visitor.signIn(user.email, PASSWORD);
    await visitor.arrive('security');
    await visitor.page.click('#sms-off summary');
    await visitor.submit('phone-verify', { phoneNumber: `${phoneNumber.slice(0, 5)} ${phoneNumber.slice(5)}` });
    const first = await codeSent();
    await visitor.submit('phone-confirm', { code: first });
    await visitor.sees('Your recovery codes');
    await visitor.page.click('#codes-close');
    expect(await visitor.text('[data-state="sms"]')).toBe('On');
    await visitor.page.click('#sign-out');
    await visitor.arrive('login');
    await visitor.submit('login', { email: user.email, password: PASSWORD });
    await visitor.sees(phoneNumber.slice(-4));
    await visitor.page.click('#send-sms');
    await visitor.sees('The code is on its way');
    await visitor.submit('sms', { code: await codeSent(first) });
    await visitor.arrive('security');
  });
});
