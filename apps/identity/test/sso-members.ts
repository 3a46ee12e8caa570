import { randomUUID } from 'node:crypto';
import type { HostileProvider } from '@rmm/testing';
import { cookiesOf, expectStatus, PASSWORD, type TestResponse } from './identity-test-app.js';
import type { SsoOwner, SsoTestApp } from './sso-test-app.js';
import { inviteAndAccept, type TestUser } from './users.js';

export interface SsoTenant {
  own: SsoOwner;
  orgId: string;
  /** The id of the active provider. */
  id: string;
}

export type LinkedMember = TestUser & { sub: string };

/** Organizations of one partner whose members sign in at one provider. */
export class SsoMembers {
  constructor(
    private readonly sso: SsoTestApp,
    private readonly owner: SsoOwner,
    private readonly provider: HostileProvider,
  ) {}

  /** Creates an organization with a role and an active provider. */
  async tenant(settings: object = {}): Promise<SsoTenant> {
    const orgId = await this.sso.organization(this.owner.partnerId);
    const role = { name: 'Staff', permissions: [{ resource: 'devices', action: 'read' }], orgId };
    const { id: roleId } = expectStatus(await this.sso.identity.post('/roles', role, this.owner), 201).body as {
      id: string;
    };
    const own = { ...this.owner, orgId, roleId };
    return { own, orgId, id: await this.sso.provider(own, this.provider.issuer, settings) };
  }

  /** Invites a member, who accepts with a password. */
  member({ orgId, roleId }: SsoOwner): Promise<TestUser> {
    return inviteAndAccept(this.sso.identity, this.owner.bearer, { orgId, roleId });
  }

  /** Has the next sign-ins at the provider end as this user. */
  use(user: { email: string; sub?: string }, claims: object = {}): string {
    const sub = user.sub ?? randomUUID();
    this.provider.user = { sub, email: user.email, email_verified: true, name: 'Uma User', ...claims };
    return sub;
  }

  link(user: TestUser, providerId: string, more: object = {}): Promise<TestResponse> {
    return this.sso.identity.post('/sso/link', { providerId, currentPassword: PASSWORD, ...more }, user);
  }

  /** Continues a started link or reauthentication at the provider. */
  follow(started: TestResponse): Promise<TestResponse> {
    return this.sso.callback(this.provider.authorize(started.body.redirectUrl as string), cookiesOf(started));
  }

  async signOn(target: string): Promise<TestResponse> {
    const { location, cookies } = await this.sso.start(target);
    return this.sso.callback(this.provider.authorize(location), cookies);
  }

  /** Signs in at the provider. @returns the body of the exchange */
  async session(target: string): Promise<TestResponse['body']> {
    return expectStatus(await this.sso.exchange(await this.signOn(target)), 200).body;
  }

  /** Creates a member with a linked identity, as which the provider signs in from then on. */
  async linkedMember({ own, id }: SsoTenant): Promise<LinkedMember> {
    const user = await this.member(own);
    const sub = this.use(user);
    const done = await this.follow(expectStatus(await this.link(user, id), 200));
    if (done.headers.location !== 'https://app.test/#ssoLinked=true') throw new Error(`${done.headers.location}`);
    return { ...user, sub };
  }

  /** Removes the password of a user, who then signs in at the provider only. */
  async removePassword({ userId }: TestUser): Promise<void> {
    await this.sso.testApp.query('UPDATE user_account SET password_hash = NULL WHERE id = $1', [userId]);
  }

  /** Signs in again at the provider. @returns the grant of the session */
  async reauthenticate(bearer: string): Promise<string> {
    const started = expectStatus(await this.sso.identity.post('/sso/reauth', {}, { bearer }), 200);
    const { headers } = await this.follow(started);
    const grant = /#ssoReauthGrant=([A-Za-z0-9_-]{43})$/.exec(headers.location ?? '')?.[1];
    if (!grant) throw new Error(`no grant in ${headers.location}`);
    return grant;
  }
}
