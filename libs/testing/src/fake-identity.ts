import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  IDENTITY_ACCESS_IN_ORGANIZATION,
  IDENTITY_ACCESS_RESOLVE,
  IDENTITY_MAIL_SEND,
  IDENTITY_ORGANIZATIONS_IN_USE,
  IDENTITY_SECURITY_POLICY_APPLY,
  type AccessChanged,
  type AccessInOrganization,
  type AccessInOrganizationRequest,
  type AccessResolveRequest,
  type AccessScope,
  type AccessSnapshot,
  type ApplySecurityPolicyRequest,
  type MailSendRequest,
  type OrganizationsInUseRequest,
  type PartnerState,
} from '@rmm/contracts';
import { Broadcasts, NatsLink } from '@rmm/messaging';
import { FakePartners, publishHeartbeats } from './fake-tenants.js';

const KID = 'spec';

/** The user to sign in; by default a partner member with all permissions and a verified factor. */
export interface FakeUser {
  scope?: AccessScope;
  partnerId?: string | null;
  orgId?: string | null;
  orgAccess?: AccessSnapshot['orgAccess'];
  orgIds?: string[];
  siteIds?: string[] | null;
  deviceGroupIds?: string[] | null;
  permissions?: AccessSnapshot['permissions'];
  mfa?: boolean;
}

/**
 * Fakes identity in the specs of one service: public keys over HTTP; access snapshots, heartbeats and mail over
 * NATS. End-to-end tests use the real service.
 */
export class FakeIdentity {
  private readonly snapshots = new Map<string, AccessSnapshot>();
  /** Returns the reply to a policy: `{ value }`, `{ error }`, or undefined for no reply. */
  onApplyPolicy: (request: ApplySecurityPolicyRequest) => object | undefined = () => undefined;
  /** The mails identity was asked to send, oldest first. */
  readonly mails: MailSendRequest[] = [];
  /** Organizations with members, invitations or login providers. */
  readonly organizationsInUse = new Set<string>();
  private readonly broadcasts: Broadcasts;
  private readonly partners: FakePartners;
  private heartbeat?: NodeJS.Timeout;

  private constructor(
    readonly link: NatsLink,
    private readonly server: Server,
    private readonly key: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'],
  ) {
    this.broadcasts = new Broadcasts(link);
    this.partners = new FakePartners(link);
  }

  static async start(natsUrl: string): Promise<FakeIdentity> {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid: KID, alg: 'ES256', use: 'sig' };
    const server = createServer((_, response) => {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ keys: [jwk] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const link = new NatsLink({ url: natsUrl, name: 'fake-identity' });
    await link.open();
    const fake = new FakeIdentity(link, server, privateKey);
    fake.serve();
    return fake;
  }

  get jwksUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  /** Signs a user in. @returns a bearer token */
  async signIn(user: FakeUser = {}): Promise<string> {
    const { scope = 'partner', partnerId = null, orgId = null, mfa = true } = user;
    const [userId, sessionId] = [randomUUID(), randomUUID()];
    const email = `${userId}@example.com`;
    this.snapshots.set(sessionId, snapshotOf(user, { userId, sessionId, email, scope, partnerId, orgId }));
    const claims = {
      email,
      type: 'access',
      scope,
      partnerId,
      orgId,
      roleId: null,
      mfa,
      aep: 1,
      mep: 1,
      sid: sessionId,
    };
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: KID, typ: 'JWT' })
      .setSubject(userId)
      .setIssuer('service-identity')
      .setAudience('service-api')
      .setIssuedAt()
      .setExpirationTime('15m')
      .sign(this.key);
  }

  /** Returns the user of a token of `signIn`. */
  userIdOf(token: string): string {
    return decodeJwt(token).sub ?? '';
  }

  /** Adds a partner, by default active without caps; an older version than the one it has changes nothing. */
  addPartner(changes: Partial<PartnerState> & { partnerId: string }): PartnerState {
    return this.partners.add(changes);
  }

  /** Changes the access of a user and publishes the change to every service. */
  change(userId: string, to: Partial<AccessSnapshot>): void {
    for (const [sessionId, snapshot] of this.snapshots) {
      if (snapshot.userId === userId) this.snapshots.set(sessionId, { ...snapshot, ...to });
    }
    this.publishAccessChanged({ userIds: [userId], reason: 'spec' });
  }

  /** Publishes a change of access to every service. */
  publishAccessChanged(change: AccessChanged): void {
    this.broadcasts.publishNow('access.changed', change);
  }

  async stop(): Promise<void> {
    clearInterval(this.heartbeat);
    await this.link.close();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private serve(): void {
    this.link.connection.subscribe(IDENTITY_ACCESS_RESOLVE.subject, {
      callback: (_, message) => {
        const { sessionId } = message.json<AccessResolveRequest>();
        message.respond(JSON.stringify({ value: this.snapshots.get(sessionId) ?? null }));
      },
    });
    this.link.connection.subscribe(IDENTITY_SECURITY_POLICY_APPLY.subject, {
      callback: (_, message) => {
        const reply = this.onApplyPolicy(message.json<ApplySecurityPolicyRequest>());
        if (reply) message.respond(JSON.stringify(reply));
      },
    });
    this.link.connection.subscribe(IDENTITY_ACCESS_IN_ORGANIZATION.subject, {
      callback: (_, message) => {
        const request = message.json<AccessInOrganizationRequest>();
        message.respond(JSON.stringify({ value: this.inOrganization(request) }));
      },
    });
    this.link.connection.subscribe(IDENTITY_MAIL_SEND.subject, {
      callback: (_, message) => {
        this.mails.push(message.json<MailSendRequest>());
        message.respond(JSON.stringify({ value: { accepted: true } }));
      },
    });
    this.link.connection.subscribe(IDENTITY_ORGANIZATIONS_IN_USE.subject, {
      callback: (_, message) => {
        const { orgIds } = message.json<OrganizationsInUseRequest>();
        const used = orgIds.filter((orgId) => this.organizationsInUse.has(orgId));
        message.respond(JSON.stringify({ value: { orgIds: used } }));
      },
    });
    this.heartbeat = publishHeartbeats(this.link, 'access.heartbeat');
  }

  private inOrganization({ userId, partnerId, orgId }: AccessInOrganizationRequest): AccessInOrganization | null {
    const sessions = [...this.snapshots.values()].filter((snapshot) => snapshot.userId === userId);
    const [session] = sessions;
    if (!session) return null;
    const grants = sessions
      .filter(({ membershipExists }) => membershipExists)
      .filter((snapshot) => canAccess(snapshot, partnerId, orgId))
      .map(({ scope, permissions, siteIds, deviceGroupIds }) => ({ scope, permissions, siteIds, deviceGroupIds }));
    return { userId, email: session.email, name: 'Spec User', active: session.userStatus === 'active', grants };
  }
}

function canAccess(snapshot: AccessSnapshot, partnerId: string, orgId: string): boolean {
  if (snapshot.scope === 'system') return true;
  if (snapshot.partnerId !== partnerId) return false;
  if (snapshot.scope === 'organization') return snapshot.orgId === orgId;
  return snapshot.orgAccess === 'all' || (snapshot.orgAccess === 'selected' && snapshot.orgIds.includes(orgId));
}

type Session = Pick<AccessSnapshot, 'userId' | 'sessionId' | 'email' | 'scope' | 'partnerId' | 'orgId'>;

const snapshotOf = (user: FakeUser, session: Session): AccessSnapshot => ({
  ...session,
  userStatus: 'active',
  sessionRevoked: false,
  authEpoch: 1,
  mfaEpoch: 1,
  passwordChangedAt: null,
  membershipExists: true,
  partnerStatus: session.scope === 'system' ? null : 'active',
  roleId: null,
  orgAccess: user.orgAccess ?? (session.scope === 'partner' ? 'all' : 'none'),
  orgIds: user.orgIds ?? [],
  siteIds: user.siteIds ?? null,
  deviceGroupIds: user.deviceGroupIds ?? null,
  permissions: user.permissions ?? ['*:*'],
  hasFactor: true,
  mfaEnrollmentRequired: false,
  allowedMfaMethods: ['totp'],
  ipAllowlist: [],
  version: 1,
});
