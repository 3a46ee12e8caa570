import type { Browser } from 'playwright-core';
import { connectToFleet, enrollTotp, MailboxClient, PASSWORD, registerPartner, type SignedIn } from '@rmm/testing';
import { must } from '../steps.js';
import { describeInBrowser, launchChromium, Visitor } from './chromium.js';

const PUBLIC_PAGES = [
  'login',
  'sign-up',
  'forgot-password',
  'reset-password?token=x',
  'reset-password',
  'verify-email?token=x',
  'verify-email',
  'accept-invite',
  'inactive',
  'contact',
  'no-such-page',
];

/** Contain each pair of color scheme, language and width; all eight combinations take twice as long. */
const VARIANTS = [
  ['light', 'en-US', 360],
  ['light', 'de-DE', 1280],
  ['dark', 'en-US', 1280],
  ['dark', 'de-DE', 360],
] as const;

describeInBrowser('every account page meets WCAG 2.2 AA without a policy violation', () => {
  const fleet = connectToFleet();
  let browser: Browser;
  let user: SignedIn;
  let withFactor: SignedIn;
  let invitation: string;

  beforeAll(async () => {
    browser = await launchChromium();
    user = await registerPartner(fleet);
    withFactor = await registerPartner(fleet);
    await enrollTotp(withFactor.client);
    const { data } = must(await user.client.get('/users/roles?limit=100'), 200);
    const email = `guest-${user.partnerId}@users.test`;
    must(await user.client.post('/users/invite', { email, name: 'Guest', roleId: data[0].id as string }), 201);
    invitation = await new MailboxClient(fleet.mailboxUrl).token(email);
  });
  afterAll(() => browser.close());

  it.each(VARIANTS)('%s, %s, %i pixels', async (colorScheme, locale, width) => {
    const visitor = await Visitor.start(browser, fleet, { colorScheme, locale, viewport: { width, height: 800 } });
    const found: string[] = [];
    const check = async (name: string) => {
      await visitor.screenshot(`${name.replace(/\W+/g, '-')}.${colorScheme}.${locale.slice(0, 2)}.${width}`);
      found.push(...(await visitor.accessibilityProblems()).map((problem) => `${name}: ${problem}`));
      const overflow = await visitor.page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      if (overflow > 0) found.push(`${name}: ${overflow} pixels wider than the screen`);
    };

    for (const page of PUBLIC_PAGES) {
      await visitor.open(page);
      await check(page);
    }
    await visitor.open(`accept-invite?token=${invitation}`);
    await check('invitation of a new account');
    await visitor.open(`accept-invite?token=${invitation}&account=existing`);
    await check('invitation of an existing account');
    await visitor.signIn(withFactor.email, PASSWORD);
    await visitor.page.waitForSelector('[data-step="factor"]:visible');
    await visitor.page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true');
    await check('login with a factor');
    await visitor.open('login');
    await visitor.submit('login', { email: user.email, password: 'wrong-password' });
    await visitor.page.waitForSelector('.message.error:visible');
    await check('login with an error');
    await visitor.submit('login', { email: user.email, password: PASSWORD });
    await visitor.arrive('security');
    await check('security');
    await visitor.page.click('#totp-start');
    await visitor.page.waitForSelector('#totp-qr[src]');
    await visitor.page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true');
    await check('security with every form');
    await visitor.page.evaluate('document.querySelector("#step-up").showModal()');
    await check('security with a dialog');
    await visitor.open('switch');
    await check('switch');

    expect(found).toEqual([]);
    expect(visitor.problems).toEqual([]);
    await visitor.close();
  });
});
