import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, freePort } from '@rmm/testing-services';
import { APP_URL, CALLBACK_URL } from './sso-test-app.js';

const PORTAL = '/usr/share/lemonldap-ng/portal';
/** The modules that load the optional packages of a portal with an OpenID issuer. */
const MODULES = ['Captcha::SecurityImage', 'Issuer::OpenIDConnect'].map((name) => `-MLemonldap::NG::Portal::${name}`);
const SECOND_FACTOR_CODE = '123456';
/** Sign-in and second factor are two pages; more are a form that was refused. */
const MAX_PAGES = 5;

/** Returns true where the portal of LemonLDAP::NG and the packages that it needs are installed. */
export const isLemonLdapInstalled = (): boolean =>
  spawnSync('perl', [...MODULES, '-e', '1'], { stdio: 'ignore' }).status === 0;

/** Cookies of a browser at the provider. */
type Browser = Map<string, string>;

/**
 * The OpenID provider LemonLDAP::NG of Debian with a client of ours, on loopback with a folder of its own. Its accounts are
 * `dwho`, `msmith` and `rtyler` at `badwolf.org`, with passwords equal to their names; `rtyler` has a second factor.
 */
export class LemonLdapProvider {
  static readonly clientId = 'rmm';
  /** Letters and digits: LemonLDAP::NG does not decode the secret in the header as RFC 6749, section 2.3.1, asks. */
  static readonly clientSecret = 'aClientSecretOfSpecsLongEnough2026';
  static readonly postLogoutPath = '/bye';

  private constructor(
    readonly issuer: string,
    private readonly folder: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(): Promise<LemonLdapProvider> {
    const folder = await mkdtemp(join(tmpdir(), 'lemonldap-'));
    const [configuration, port] = [join(folder, 'lemonldap-ng.ini'), await freePort()];
    const issuer = `http://127.0.0.1:${port}`;
    for (const name of ['cache', 'sessions']) await mkdir(join(folder, name));
    await writeFile(join(folder, 'lmConf-1.json'), JSON.stringify(settingsOf(issuer, folder)));
    const sections = [
      '[all]',
      '[configuration]',
      'type=File',
      `dirName=${folder}`,
      '[portal]',
      `templateDir=${PORTAL}/templates`,
    ];
    await writeFile(configuration, sections.join('\n'));
    const child = spawn(
      'plackup',
      ['-E', 'deployment', '--host', '127.0.0.1', '--port', String(port), `${PORTAL}/htdocs/index.psgi`],
      { stdio: 'ignore', env: { ...process.env, LLNG_DEFAULTCONFFILE: configuration } },
    );
    const provider = new LemonLdapProvider(issuer, folder, child);
    try {
      await eventually(async () => {
        const { status } = await fetch(`${issuer}/.well-known/openid-configuration`);
        if (status !== 200) throw new Error(`${status} from the portal`);
      });
    } catch (error) {
      await provider.stop();
      throw error;
    }
    return provider;
  }

  /**
   * Signs a user in at the authorization URL, unless the browser is signed in.
   * @returns the URL that the browser is sent back to
   */
  signIn(authorizationUrl: string, user: string, password: string, browser: Browser = new Map()): Promise<string> {
    return this.submitPages(authorizationUrl, { user, password, code: SECOND_FACTOR_CODE }, browser);
  }

  /** Confirms the page that asks whether to sign out. @returns the URL that the browser is sent back to */
  signOut(endSessionUrl: string, browser: Browser): Promise<string> {
    return this.submitPages(endSessionUrl, {}, browser);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exited = once(this.child, 'exit');
      this.child.kill();
      await exited;
    }
    await rm(this.folder, { recursive: true });
  }

  /** Submits the form of each page with `values`. @returns the first URL outside of the portal */
  private async submitPages(from: string, values: Record<string, string>, browser: Browser): Promise<string> {
    let [url, body]: [string, URLSearchParams | undefined] = [from, undefined];
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const cookie = [...browser].map(([name, value]) => `${name}=${value}`).join('; ');
      const method = body ? 'POST' : 'GET';
      const response: Response = await fetch(url, { method, body, headers: { cookie }, redirect: 'manual' });
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        browser.set(name, value);
      }
      const location = response.headers.get('location');
      if (location !== null && !location.startsWith(this.issuer)) return location;
      const page = await response.text();
      url = new URL(location ?? attributeOf('action', page) ?? '', url).href;
      body = location === null ? formOf(page, values) : undefined;
    }
    throw new Error('the portal sends the browser nowhere else');
  }
}

/** Returns the fields of a page, with `values` in place of those that it names. */
function formOf(page: string, values: Record<string, string>): URLSearchParams {
  const form = new URLSearchParams();
  for (const [input] of page.matchAll(/<input [^>]*>/g)) {
    const name = attributeOf('name', input);
    const value = name === undefined ? undefined : (values[name] ?? attributeOf('value', input));
    if (name !== undefined && value !== undefined) form.set(name, value);
  }
  return form;
}

const attributeOf = (name: string, html: string): string | undefined =>
  new RegExp(` ${name}="([^"]*)"`).exec(html)?.[1];

function settingsOf(issuer: string, folder: string): object {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2_048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const sessions = join(folder, 'sessions');
  const storage = { Directory: sessions, LockDirectory: sessions };
  const options = {
    ClientID: LemonLdapProvider.clientId,
    ClientSecret: LemonLdapProvider.clientSecret,
    RedirectUris: CALLBACK_URL,
    PostLogoutRedirectUris: `${APP_URL}${LemonLdapProvider.postLogoutPath}`,
    BypassConsent: 1,
    RequirePKCE: 1,
    IDTokenSignAlg: 'RS256',
    IDTokenForceClaims: 1,
  };
  return {
    ...{ cfgNum: 1, cfgAuthor: 'rmm', cfgDate: '1', key: randomBytes(16).toString('hex') },
    ...{ portal: `${issuer}/`, domain: '127.0.0.1', portalDisplayResetPassword: 0, locationRules: {} },
    ...{ authentication: 'Demo', userDB: 'Same', demoExportedVars: { cn: 'cn', mail: 'mail', uid: 'uid' } },
    ...{ globalStorage: 'Apache::Session::File', globalStorageOptions: storage },
    ...{ persistentStorage: 'Apache::Session::File', persistentStorageOptions: storage },
    localSessionStorageOptions: { cache_root: join(folder, 'cache'), namespace: 'sessions' },
    ...{ issuerDBOpenIDConnectActivation: 1, oidcServiceMetaDataIssuer: issuer, oidcServiceIgnoreScopeForClaims: 1 },
    ...{ oidcServicePrivateKeySig: privateKey, oidcServicePublicKeySig: publicKey },
    oidcRPMetaDataOptions: {
      rmm: Object.fromEntries(Object.entries(options).map(([key, value]) => [`oidcRPMetaDataOptions${key}`, value])),
    },
    oidcRPMetaDataExportedVars: { rmm: { email: 'mail', name: 'cn', amr: 'methods;string;always' } },
    oidcRPMetaDataMacros: { rmm: { methods: '$_2f ? "mfa" : ""' } },
    ...{ ext2fActivation: '$uid eq "rtyler"', ext2FSendCommand: '/bin/true' },
    ext2fCodeActivation: SECOND_FACTOR_CODE, // a regular expression that the code is generated from
  };
}
