import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium, type BrowserContext, type CDPSession, type Page } from 'playwright-core';
import { connectToFleet, PASSWORD, registerPartner } from '@rmm/testing';

const GUIDE = resolve(import.meta.dirname, '../../../../docs/guides/passkeys.md');
const CHROMIUM = [
  process.env['CHROMIUM_PATH'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]
  .filter((path) => path !== undefined)
  .find(existsSync);
const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const PAGE = `<!doctype html><title>Passkeys</title>
  <script type="module">globalThis.guide = await import('/passkeys-spec.js');</script>`;

interface Outcome {
  value?: { tokens: { accessToken: string }; user: { id: string }; stepUpGrantId: string; passkey: { id: string } };
  error?: { name: string; status?: number; code?: string };
}

const inBrowser = CHROMIUM === undefined ? describe.skip : describe;
const title =
  CHROMIUM === undefined ? 'passkeys in a browser (skipped: no Chromium is installed)' : 'passkeys in a browser';

inBrowser(title, () => {
  const fleet = connectToFleet();
  const origin = `http://localhost:${new URL(fleet.baseUrl).port}`;
  const [, module = ''] = /```js run\n([\s\S]*?)```/.exec(readFileSync(GUIDE, 'utf8')) ?? [];
  const profile = mkdtempSync(join(tmpdir(), 'passkeys-browser-'));
  let context: BrowserContext;
  let page: Page;
  let devtools: CDPSession;
  let authenticatorId: string;

  beforeAll(async () => {
    context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: ARGS });
  });
  afterAll(async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  });

  beforeEach(async () => {
    page = await openPage(origin);
    await addAuthenticator();
  });
  afterEach(() => page.close());

  /** Opens a page with the module of the guide; the browser itself answers for the page, the fleet for the API. */
  async function openPage(at: string): Promise<Page> {
    const opened = await context.newPage();
    await opened.route(`${at}/passkeys-spec*`, (route) =>
      route.request().url().endsWith('.js')
        ? route.fulfill({ contentType: 'text/javascript', body: module })
        : route.fulfill({ contentType: 'text/html', body: PAGE }),
    );
    await opened.goto(`${at}/passkeys-spec`);
    return opened;
  }

  async function addAuthenticator(options: { isUserVerified?: boolean } = {}): Promise<void> {
    devtools = await context.newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    ({ authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
        ...options,
      },
    }));
  }

  /** Calls a function of the guide's module in the page. */
  const run = async (name: string, ...args: unknown[]): Promise<Outcome> => {
    await page.waitForFunction(() => 'guide' in globalThis);
    return page.evaluate(
      async ([called, given]) => {
        const { guide } = globalThis as unknown as {
          guide: Record<string, (...all: unknown[]) => Promise<NonNullable<Outcome['value']>>>;
        };
        try {
          return { value: await guide[called]?.(...given) };
        } catch (error) {
          const { name: errorName, status, code } = error as { name: string; status?: number; code?: string };
          return { error: { name: errorName, status, code } };
        }
      },
      [name, args] as const,
    );
  };

  async function registered() {
    const partner = await registerPartner(fleet);
    const outcome = await run('registerPasskey', partner.client.credentials.bearer, PASSWORD, 'Browser');
    expect(outcome.error).toBeUndefined();
    return { ...partner, bearer: outcome.value?.tokens.accessToken ?? '', passkeyId: outcome.value?.passkey.id ?? '' };
  }
  const setCounter = async (signCount: number) => {
    const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId });
    const [credential] = credentials;
    if (!credential) throw new Error('the authenticator has no credential');
    await devtools.send('WebAuthn.removeCredential', { authenticatorId, credentialId: credential.credentialId });
    await devtools.send('WebAuthn.addCredential', { authenticatorId, credential: { ...credential, signCount } });
  };

  it('register, sign in and step up with the module of the guide', async () => {
    const user = await registered();
    const signedIn = await run('signIn');
    expect(signedIn.error).toBeUndefined();
    expect(signedIn.value?.user.id).toBe(user.userId);
    const grant = await run('stepUp', signedIn.value?.tokens.accessToken, 'change_email');
    expect(grant.value?.stepUpGrantId).toMatch(/^[\w-]{43}$/);
  });

  it('complete a login after the password', async () => {
    const user = await registered();
    const login = await user.client.as({}).post('/auth/login', { email: user.email, password: PASSWORD });
    const completed = await run('completeLogin', login.body.tempToken);
    expect(completed.value?.user.id).toBe(user.userId);
  });

  it('are refused by the service on a page of another origin with the same host', async () => {
    await registered();
    const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId });
    await page.close();
    const foreign = 'http://localhost:1';
    page = await context.newPage();
    await page.route(`${foreign}/**`, async (route) => {
      const url = route.request().url();
      if (url.endsWith('/passkeys-spec.js')) return route.fulfill({ contentType: 'text/javascript', body: module });
      if (!url.includes('/api/')) return route.fulfill({ contentType: 'text/html', body: PAGE });
      // A hostile page relays the calls to the service.
      const response = await fetch(url.replace(foreign, fleet.baseUrl), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: route.request().postData(),
      });
      return route.fulfill({ status: response.status, contentType: 'application/json', body: await response.text() });
    });
    await page.goto(`${foreign}/passkeys-spec`);
    await addAuthenticator();
    for (const credential of credentials)
      await devtools.send('WebAuthn.addCredential', { authenticatorId, credential });
    expect((await run('signIn')).error).toMatchObject({ status: 401, code: 'login_failed' });
  });

  it('are refused without user verification', async () => {
    await registered();
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    expect((await run('signIn')).error).toMatchObject({ name: 'NotAllowedError' });
    await devtools.send('WebAuthn.setResponseOverrideBits', { authenticatorId, isBadUV: true });
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
    expect((await run('signIn')).error).toMatchObject({ status: 401, code: 'login_failed' });
  });

  it('are refused with a bad signature and with a lowered counter', async () => {
    await registered();
    await devtools.send('WebAuthn.setResponseOverrideBits', { authenticatorId, isBogusSignature: true });
    expect((await run('signIn')).error).toMatchObject({ status: 401, code: 'login_failed' });
    await devtools.send('WebAuthn.setResponseOverrideBits', { authenticatorId });
    await setCounter(100);
    expect((await run('signIn')).error).toBeUndefined();
    await setCounter(50);
    expect((await run('signIn')).error).toMatchObject({ status: 401, code: 'login_failed' });
  });

  it('are refused once they are deleted', async () => {
    const user = await registered();
    const session = user.client.as({ bearer: user.bearer });
    const deleted = await session.send('DELETE', `/auth/passkeys/${user.passkeyId}`, { currentPassword: PASSWORD });
    expect(deleted.status).toBe(200);
    expect((await run('signIn')).error).toMatchObject({ status: 401, code: 'login_failed' });
  });

  it('are not registered twice by one authenticator', async () => {
    const user = await registered();
    const again = await run('registerPasskey', user.bearer, PASSWORD, 'Twice');
    expect(again.error).toMatchObject({ name: 'InvalidStateError' });
  });
});
