import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually, freePort } from '@rmm/testing-services';
import { CALLBACK_URL } from './sso-test-app.js';

const BINARY = '/usr/bin/glewlwyd';
const SQLITE = '/usr/bin/sqlite3';
const SCHEMA = '/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3';
const CONFIG = '/etc/glewlwyd/glewlwyd.conf';
const ADMIN = { username: 'admin', password: 'password' };

/** Returns true where the package `glewlwyd` of Debian is installed. */
export const isGlewlwydInstalled = (): boolean => [BINARY, SQLITE, SCHEMA, CONFIG].every((file) => existsSync(file));

/** The OpenID provider Glewlwyd of Debian with a client of ours, on loopback with a database of its own. */
export class GlewlwydProvider {
  static readonly clientId = 'rmm';
  /** Letters and digits: Glewlwyd does not decode the secret in the header as RFC 6749, section 2.3.1, asks. */
  static readonly clientSecret = 'aClientSecretOfSpecsLongEnough2026';

  private constructor(
    private readonly url: string,
    private readonly folder: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(): Promise<GlewlwydProvider> {
    const folder = await mkdtemp(join(tmpdir(), 'glewlwyd-'));
    const [database, config, port] = [join(folder, 'db'), join(folder, 'conf'), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    await promisify(execFile)(SQLITE, [database, `.read ${SCHEMA}`]);
    const settings = readFileSync(CONFIG, 'utf8')
      .replace(/^port=.*$/m, `port=${port}`)
      .replace(/^external_url=.*$/m, `external_url="${url}"`)
      .replace(/^log_mode=.*$/m, 'log_mode="console"')
      .replace(/^@include.*glewlwyd-db.*$/m, `database = { type = "sqlite3" path = "${database}" }`);
    await writeFile(config, settings);
    const child = spawn(BINARY, [`--config-file=${config}`], { stdio: 'ignore' });
    const provider = new GlewlwydProvider(url, folder, child);
    await eventually(() => fetch(`${url}/config`));
    await provider.configure();
    return provider;
  }

  get issuer(): string {
    return `${this.url}/api/oidc`;
  }

  async addUser(username: string, email: string, password: string): Promise<void> {
    const admin = await this.logIn(ADMIN);
    const user = { username, email, password, name: 'Uma User', enabled: true, scope: ['openid', 'g_profile'] };
    await this.call(admin, 'POST', '/user/', user);
  }

  /** Signs a user in at the authorization URL, and consents. @returns the URL that the browser is sent back to */
  async signIn(authorizationUrl: string, username: string, password: string): Promise<string> {
    const cookie = await this.logIn({ username, password });
    await this.call(cookie, 'PUT', `/auth/grant/${GlewlwydProvider.clientId}`, { scope: 'openid' });
    const response = await fetch(`${authorizationUrl}&g_continue`, { headers: { cookie }, redirect: 'manual' });
    return response.headers.get('location') ?? '';
  }

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill();
    await exited;
    await rm(this.folder, { recursive: true });
  }

  private async configure(): Promise<void> {
    const admin = await this.logIn(ADMIN);
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2_048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const parameters = {
      ...{ iss: this.issuer, 'jwt-type': 'rsa', 'jwt-key-size': '256', key: privateKey, cert: publicKey },
      ...{ 'access-token-duration': 3_600, 'refresh-token-duration': 86_400, 'code-duration': 600 },
      ...{ 'auth-type-code-enabled': true, 'auth-type-id-token-enabled': true, 'auth-type-refresh-enabled': true },
      ...{ 'pkce-allowed': true, 'jwks-show': true, 'subject-type': 'public', 'allowed-scope': ['openid'] },
      ...{ scope: [{ name: 'openid' }], claims: [], 'email-claim': 'mandatory', 'name-claim': 'mandatory' },
    };
    await this.call(admin, 'POST', '/mod/plugin/', { module: 'oidc', name: 'oidc', display_name: 'OIDC', parameters });
    await this.call(admin, 'POST', '/client/', {
      ...{ client_id: GlewlwydProvider.clientId, client_secret: GlewlwydProvider.clientSecret, name: 'RMM' },
      ...{ enabled: true, confidential: true, redirect_uri: [CALLBACK_URL], authorization_type: ['code'], scope: [] },
      token_endpoint_auth_method: ['client_secret_basic'],
    });
  }

  /** @returns the cookie of the session */
  private async logIn(account: { username: string; password: string }): Promise<string> {
    const response = await this.call('', 'POST', '/auth/', account);
    return response.headers.get('set-cookie')?.split(';')[0] ?? '';
  }

  private async call(cookie: string, method: string, path: string, body: object): Promise<Response> {
    const headers = { cookie, 'content-type': 'application/json' };
    const response = await fetch(`${this.url}/api${path}`, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  }
}
