import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

/** The attributes of a user at a certified provider. */
export interface ProviderAccount {
  email?: string;
  email_verified?: unknown;
  name?: string;
  /** Authentication methods of its sign-in. */
  amr?: string[];
  /** Claims of a vendor. */
  [claim: string]: unknown;
}

export interface CertifiedProviderOptions {
  /** The URL that browsers return to. */
  redirectUri: string;
  postLogoutRedirectUri?: string;
  backchannelLogoutUri?: string;
  /** The end of the issuer after its origin, such as the final slash of some vendors. */
  issuerPath?: '' | '/';
  /** Ask for the account by a form, for browsers. */
  form?: boolean;
  /** Claims by scope, in addition to the usual ones. */
  claims?: Readonly<Record<string, readonly string[] | null>>;
}

/**
 * `oidc-provider`, a certified OpenID provider, in a process of its own on loopback: Jest does not load its modules.
 * Every sign-in succeeds at once as the account that the browser names.
 */
export class CertifiedProvider {
  static readonly clientId = 'rmm';
  static readonly clientSecret = 'a client secret of specs, long enough';
  readonly accounts = new Map<string, ProviderAccount>();

  private constructor(
    readonly issuer: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(options: CertifiedProviderOptions): Promise<CertifiedProvider> {
    const script = join(workspaceRoot(), 'libs/testing/identity-provider/provider.mjs');
    const child = spawn(process.execPath, [script, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] });
    for await (const line of createInterface({ input: child.stdout })) {
      return new CertifiedProvider((JSON.parse(line) as { issuer: string }).issuer, child);
    }
    throw new Error('the provider did not start');
  }

  /**
   * Signs in like a browser: follows the redirects from an authorization URL.
   * @param browser  cookies at the provider, kept for a later sign-in
   * @returns the URL it is sent back to
   */
  async signIn(authorizationUrl: string, sub: string, browser = new Map<string, string>()): Promise<string> {
    const start = new URL(authorizationUrl);
    start.searchParams.set('login_hint', JSON.stringify({ ...this.accounts.get(sub), sub }));
    return this.follow(start.href, browser);
  }

  /** Signs the browser out: confirms the page that asks whether to. */
  async signOut(browser: Map<string, string>): Promise<void> {
    const cookie = [...browser].map(([name, value]) => `${name}=${value}`).join('; ');
    const page = await fetch(`${this.issuer}/session/end`, { headers: { cookie } });
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(await page.text())?.[1] ?? '';
    const set = page.headers.getSetCookie().map((line) => line.split(';')[0]);
    const body = new URLSearchParams({ xsrf, logout: 'yes' });
    const headers = { cookie: [cookie, ...set].join('; ') };
    await fetch(`${this.issuer}/session/end/confirm`, { method: 'POST', body, headers, redirect: 'manual' });
  }

  /** Follows redirects within the provider. @returns the first URL outside of it */
  async follow(from: string, browser: Map<string, string>): Promise<string> {
    let url = from;
    for (let hops = 0; hops < 10; hops += 1) {
      const cookie = [...browser].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {} });
      for (const line of response.headers.getSetCookie()) {
        const [pair = ''] = line.split(';');
        browser.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
      }
      const location = response.headers.get('location');
      if (location === null) throw new Error(`${response.status} from the provider: ${await response.text()}`);
      url = new URL(location, url).href;
      if (!url.startsWith(this.issuer)) return url;
    }
    throw new Error('the provider redirects without end');
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.stdin?.end();
    await ended;
  }
}

function workspaceRoot(): string {
  let directory = process.cwd();
  while (!existsSync(join(directory, 'nx.json'))) {
    const parent = dirname(directory);
    if (parent === directory) throw new Error('not inside the workspace');
    directory = parent;
  }
  return directory;
}
