import type { INestApplication } from '@nestjs/common';
import supertest from 'supertest';
import { HostileProvider } from '@rmm/testing';
import { expectStatus, freshAddress, type IdentityReplica, type TestResponse } from './identity-test-app.js';
import { SsoTestApp, type SsoOwner } from './sso-test-app.js';

export const PATCH_OP = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

let count = 0;

/** An organization whose provider provisions it: its administrator, the provider and a client with a token. */
export interface ScimTenant extends SsoOwner {
  providerId: string;
  domain: string;
  client: ScimClient;
}

/** The SCIM client of an identity provider. */
export class ScimClient {
  constructor(
    private readonly app: INestApplication,
    readonly token: string,
  ) {}

  /** The same client at another replica. */
  at(replica: IdentityReplica): ScimClient {
    return new ScimClient(replica.app, this.token);
  }

  async call(
    method: Method,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<TestResponse> {
    const request = supertest(this.app.getHttpServer() as never)
      [method](`/api/v1/scim/v2${path}`)
      .set('X-Forwarded-For', freshAddress())
      .set('Authorization', `Bearer ${this.token}`)
      .set('Content-Type', 'application/scim+json')
      .buffer(true)
      .parse((response, done) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => done(null, text));
      });
    for (const [name, value] of Object.entries(headers)) request.set(name, value);
    const sent = typeof body === 'string' ? body : body === undefined ? undefined : JSON.stringify(body);
    const response = await (sent === undefined ? request : request.send(sent));
    const text = response.body as unknown as string;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text.startsWith('{') ? JSON.parse(text) : undefined,
    };
  }

  get(path: string): Promise<TestResponse> {
    return this.call('get', path);
  }

  find(resource: 'Users' | 'Groups', filter: string, more = ''): Promise<TestResponse> {
    return this.get(`/${resource}?filter=${encodeURIComponent(filter)}${more}`);
  }

  patch(path: string, ...operations: object[]): Promise<TestResponse> {
    return this.call('patch', path, { schemas: [PATCH_OP], Operations: operations });
  }

  /** Creates a user and returns its resource. */
  async user(userName: string, attributes: object = {}) {
    const body = { schemas: [USER_SCHEMA], userName, active: true, ...attributes };
    return expectStatus(await this.call('post', '/Users', body), 201).body as { id: string };
  }

  /** Creates a group and returns its id. */
  async group(displayName: string, ...members: string[]): Promise<string> {
    const body = { schemas: [GROUP_SCHEMA], displayName, members: members.map((value) => ({ value })) };
    return expectStatus(await this.call('post', '/Groups', body), 201).body.id as string;
  }
}

/** Provisions organizations on an `SsoTestApp`. */
export class ScimTenants {
  constructor(private readonly sso: SsoTestApp) {}

  /** An organization with a proven domain, a provider with a default role, and a SCIM client. */
  async create(settings: object = {}): Promise<ScimTenant> {
    const { sso } = this;
    const owner = await sso.owner();
    const domain = `scim-${++count}.test`;
    await sso.proveDomain(owner, domain);
    const providerId = await this.provider(owner, { defaultRoleId: owner.roleId, ...settings });
    const client = await this.client(owner, providerId);
    return { ...owner, providerId, domain, client };
  }

  /** A provider without a discovery: no user signs in. */
  async provider(owner: SsoOwner, { defaultRoleId = null }: { defaultRoleId?: string | null } = {}): Promise<string> {
    const [row] = await this.sso.testApp.query<{ id: string }>(
      `INSERT INTO sso_provider (id, partner_id, org_id, name, type, issuer, client_id, default_role_id,
         default_role_configured_by)
       VALUES (gen_random_uuid(), $1, $2, 'Entra ID', 'oidc', 'https://idp.test', $3, $4, $5) RETURNING id`,
      [owner.partnerId, owner.orgId, HostileProvider.clientId, defaultRoleId, owner.userId],
    );
    return row?.id ?? '';
  }

  async client(owner: SsoOwner, providerId: string): Promise<ScimClient> {
    const { identity } = this.sso;
    const path = `/sso/providers/${providerId}/scim/tokens`;
    const { token } = expectStatus(await identity.post(path, { name: 'Entra ID' }, owner), 201).body.data;
    return new ScimClient(identity.app, token as string);
  }

  /** A custom role of the organization. */
  async role(owner: SsoOwner, name: string, action = 'read'): Promise<string> {
    const role = { name, permissions: [{ resource: 'devices', action }], orgId: owner.orgId };
    return expectStatus(await this.sso.identity.post('/roles', role, owner), 201).body.id as string;
  }

  async configure(owner: ScimTenant, settings: object): Promise<TestResponse> {
    const body = { groupsByName: false, roleMappings: [], ...settings };
    return this.sso.identity.call('put', `/sso/providers/${owner.providerId}/scim`, body, owner);
  }

  /** Returns the membership of an account in the organization; undefined without one. */
  async membership(owner: ScimTenant, email: string) {
    const [row] = await this.sso.testApp.query<{ userId: string; roleId: string; siteIds: string[] | null }>(
      `SELECT m.user_id AS "userId", m.role_id AS "roleId", m.site_ids AS "siteIds"
       FROM organization_membership m JOIN user_account u ON u.id = m.user_id WHERE m.org_id = $1 AND u.email = $2`,
      [owner.orgId, email],
    );
    return row;
  }
}
