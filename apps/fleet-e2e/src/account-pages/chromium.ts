import axe, { type AxeResults, type Result } from 'axe-core';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';
import { type FleetHandle, freshAddress } from '@rmm/testing';

/** The headless shell has no window whose parts are drawn as well: the specs need half the time with it. */
const CANDIDATES = [
  process.env['CHROMIUM_PATH'],
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The installed browser; undefined when there is none, or with `CHROMIUM_PATH=none`. */
export const CHROMIUM =
  process.env['CHROMIUM_PATH'] === 'none'
    ? undefined
    : CANDIDATES.find((file) => file !== undefined && file !== '' && existsSync(file));

/** Screenshots of each run; ignored by git. */
export const SCREENSHOTS = resolve(import.meta.dirname, '../../../../.data/screenshots/account-pages');

/** The rules of WCAG 2.2 AA that axe-core checks, and its good practices. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Like `describe`; where no Chromium is installed the specs are skipped, and their names say so. */
export function describeInBrowser(name: string, specs: () => void): void {
  if (CHROMIUM) describe(name, specs);
  else {
    console.warn(`skipped, Chromium is not installed (see docs/CONTRIBUTING.md): ${name}`);
    describe.skip(`${name} (skipped: Chromium is not installed)`, specs);
  }
}

/** Starts a browser without a window and without requests of its own. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

/** Returns the address of the account pages. Browsers use the name: passkeys need one. */
export const pagesOf = ({ baseUrl }: FleetHandle): string => `http://localhost:${new URL(baseUrl).port}/account`;

/** One visitor with cookies and a client address of its own. */
export class Visitor {
  /** Violations of the content security policy, and errors of scripts. */
  readonly problems: string[] = [];

  private constructor(
    readonly context: BrowserContext,
    public page: Page,
    private readonly fleet: FleetHandle,
  ) {}

  static async start(browser: Browser, fleet: FleetHandle, options: BrowserContextOptions = {}): Promise<Visitor> {
    const context = await browser.newContext({
      locale: 'en-US',
      viewport: { width: 1280, height: 900 },
      ...options,
      // The edge is a trusted proxy: each visitor has limits of its own.
      extraHTTPHeaders: { 'x-forwarded-for': freshAddress() },
    });
    context.setDefaultTimeout(15_000);
    const visitor = new Visitor(context, await context.newPage(), fleet);
    context.on('weberror', (error) => visitor.problems.push(String(error.error())));
    context.on('console', (message) => {
      if (/content security policy|refused to/i.test(message.text())) visitor.problems.push(message.text());
    });
    return visitor;
  }

  /** Clicks the button of the newest mail in the mailbox of the launcher, and continues on the page that opens. */
  async openFromMailbox(email: string, label: string): Promise<void> {
    await this.page.goto(`${this.fleet.mailboxUrl}/?to=${encodeURIComponent(email)}`);
    await this.page.locator('summary').first().click();
    const opened = this.context.waitForEvent('page');
    await this.page.frameLocator('iframe').first().getByRole('link', { name: label }).click();
    this.page = await opened;
    await this.ready();
  }

  /** Gives the browser an authenticator in software that stores passkeys and verifies its user. */
  async addAuthenticator(): Promise<void> {
    const session = await this.context.newCDPSession(this.page);
    await session.send('WebAuthn.enable');
    await session.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
  }

  /** Opens an address, or a page by its name, and waits until its script has started. */
  async open(target: string): Promise<void> {
    await this.page.goto(target.startsWith('http') ? target : `${pagesOf(this.fleet)}/${target}`);
    await this.ready();
  }

  ready(): Promise<unknown> {
    return this.page.waitForSelector('html[data-ready]');
  }

  /** Waits for a page of that name, after an action that leads to it. */
  async arrive(name: string): Promise<void> {
    await this.page.waitForURL((url) => url.pathname.endsWith(`/account/${name}`));
    await this.ready();
  }

  /** Fills and sends a form by its name; the keys are the names of its inputs. */
  async submit(form: string, values: Readonly<Record<string, string>> = {}): Promise<void> {
    const selector = `form[data-form="${form}"]`;
    for (const [name, value] of Object.entries(values)) await this.page.fill(`${selector} [name="${name}"]`, value);
    await this.page.click(`${selector} button:not([type="button"])`);
  }

  async signIn(email: string, password: string): Promise<void> {
    await this.open('login');
    await this.submit('login', { email, password });
  }

  /** Returns the visible text of an element. */
  text(selector: string): Promise<string> {
    return this.page.locator(selector).filter({ visible: true }).first().innerText();
  }

  /** Waits for a visible text anywhere on the page. */
  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).filter({ visible: true }).first().waitFor();
  }

  /** Checks the page with axe-core. @returns one line for each violation */
  async accessibilityProblems(): Promise<string[]> {
    await this.page.evaluate(axe.source);
    // Of other rules than the violated ones one node is enough, which saves half of the time.
    const options = JSON.stringify({ runOnly: RULES, resultTypes: ['violations'] });
    const { passes, violations } = await this.page.evaluate<AxeResults>(`axe.run(document, ${options})`);
    if (passes.length < 10) throw new Error(`axe-core checked ${passes.length} rules only`);
    return violations.map(describeViolation);
  }

  async screenshot(name: string): Promise<void> {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}

const describeViolation = ({ id, help, nodes }: Result): string =>
  `${id}: ${help}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary ?? ''}`).join('; ')}`;
