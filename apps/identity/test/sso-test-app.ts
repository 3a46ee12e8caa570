import { CertifiedProvider, HostileProvider, TxtNameServer } from '@rmm/testing';
import {
  cookiesOf,
  expectStatus,
  IdentityTestApp,
  type CallOptions,
  type IdentityReplica,
  type TestResponse,
} from './identity-test-app.js';
import { enrollTotp, registerPartner, type TestUser } from './users.js';

export const APP_URL = 'https://app.test';
const API_URL = 'http://localhost:8080';
export const CALLBACK_URL = `${API_URL}/api/v1/sso/callback`;

export interface SsoOwner extends TestUser {
  orgId: string;
  /** A custom role of the organization. */
  roleId: string;
}

/** A browser between identity and a provider: keeps the cookies of identity. */
export interface StartedLogin {
  location: string;
  cookies: Record<string, string>;
}

/** One replica of identity that may call providers on loopback and asks a name server of its own. */
export class SsoTestApp {
  private constructor(
    readonly testApp: IdentityTestApp,
    readonly identity: IdentityReplica,
    readonly names: TxtNameServer,
  ) {}

  static async start(environment: NodeJS.ProcessEnv = {}): Promise<SsoTestApp> {
    const [testApp, names] = await Promise.all([IdentityTestApp.start(), TxtNameServer.start()]);
    const identity = await testApp.startReplica({
      OUTBOUND_EXTRA_ALLOWED_CIDRS: '127.0.0.0/8',
      SSO_DNS_SERVERS: names.address,
      ...environment,
    });
    return new SsoTestApp(testApp, identity, names);
  }

  async stop(): Promise<void> {
    await this.testApp.stop();
    await this.names.stop();
  }

  /** Registers a partner whose administrator has satisfied MFA, with an organization and a role of it. */
  async owner(permissions = [{ resource: 'devices', action: 'read' }]): Promise<SsoOwner> {
    const partner = await registerPartner(this.identity);
    const { bearer, cookies } = await enrollTotp(this.identity, partner.bearer);
    const orgId = await this.organization(partner.partnerId);
    const role = { name: 'From the provider', permissions, orgId };
    const { id } = expectStatus(await this.identity.post('/roles', role, { bearer }), 201).body as { id: string };
    return { ...partner, bearer, cookies, orgId, roleId: id };
  }

  async organization(partnerId: string): Promise<string> {
    const [row] = await this.testApp.query<{ orgId: string }>(
      `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
       VALUES (gen_random_uuid(), $1, 'Customer', 'c-' || gen_random_uuid(), 'active', 1) RETURNING org_id AS "orgId"`,
      [partnerId],
    );
    return row?.orgId ?? '';
  }

  /** Creates and activates a provider. */
  async provider(owner: SsoOwner, issuer: string, settings: object = {}): Promise<string> {
    const body = {
      orgId: owner.orgId,
      name: 'Identity provider',
      issuer,
      clientId: HostileProvider.clientId,
      clientSecret: HostileProvider.clientSecret,
      ...settings,
    };
    const created = expectStatus(await this.identity.post('/sso/providers', body, owner), 201);
    const { id } = created.body.data as { id: string };
    await this.setStatus(owner, id, 'active');
    return id;
  }

  async setStatus(owner: SsoOwner, id: string, status: string): Promise<void> {
    expectStatus(await this.identity.post(`/sso/providers/${id}/status`, { status }, owner), 200);
  }

  /** Proves a domain for the organization of the owner. */
  async proveDomain(owner: SsoOwner, domain: string): Promise<void> {
    const body = { orgId: owner.orgId, domain };
    const { data } = expectStatus(await this.identity.post('/sso/domains', body, owner), 201).body;
    this.names.records.set(data.txtRecordName as string, [data.txtRecordValue as string]);
    expectStatus(await this.identity.post(`/sso/domains/${data.id}/verify`, {}, owner), 200);
  }

  async start(target: string, options: CallOptions = {}): Promise<StartedLogin> {
    const response = expectStatus(await this.identity.get(`/sso/login/${target}`, options), 302);
    return { location: response.headers.location ?? '', cookies: cookiesOf(response) };
  }

  /** Sends the browser from the provider to the callback. */
  callback(url: string, cookies: Record<string, string>): Promise<TestResponse> {
    if (!url.startsWith(CALLBACK_URL)) throw new Error(`not the callback: ${url}`);
    return this.identity.get(`/sso/callback${new URL(url).search}`, { cookies });
  }

  /** Signs in at a certified provider and returns what the callback answers. */
  async signOn(provider: CertifiedProvider, subject: string, target: string): Promise<TestResponse> {
    const { location, cookies } = await this.start(target);
    return this.callback(await provider.signIn(location, subject), cookies);
  }

  /** Exchanges the code of a successful callback, as its browser does. */
  async exchange(callback: TestResponse): Promise<TestResponse> {
    return this.identity.post('/sso/exchange', { code: codeOf(callback) }, { cookies: cookiesOf(callback) });
  }

  /** Returns audit entries of an action, oldest first, with their details. */
  audited(action: string): Promise<{ details: Record<string, unknown>; result: string; org_id: string | null }[]> {
    return this.testApp.query(
      'SELECT details, result, org_id FROM audit_entry WHERE action = $1 ORDER BY sealed_at, sequence',
      [action],
    );
  }
}

/** Returns the code in the fragment that a callback redirects to. */
export function codeOf({ status, headers, text }: TestResponse): string {
  const code = /^https:\/\/app\.test\/[^#]*#ssoCode=([A-Za-z0-9_-]{48})$/.exec(headers.location ?? '')?.[1];
  if (status !== 302 || code === undefined) throw new Error(`${status} ${headers.location ?? text} without a code`);
  return code;
}

/** Returns the error that a callback redirects to; null for a success. */
export const errorOf = ({ headers }: TestResponse): string | null =>
  /^https:\/\/app\.test\/login\?error=([a-z_]+)$/.exec(headers.location ?? '')?.[1] ?? null;
