import {
  IDENTITY_ACCESS_IN_ORGANIZATION,
  IDENTITY_ACCESS_RESOLVE,
  IDENTITY_MAIL_SEND,
  IDENTITY_SECURITY_POLICY_APPLY,
  type AccessChanged,
  type AccessInOrganization,
  type AccessInOrganizationRequest,
  type AccessResolveRequest,
  type AccessScope,
  type AccessSnapshot,
  type ApplySecurityPolicyRequest,
  type MailSendRequest,
} from '@rmm/contracts';
import { Broadcasts, NatsLink } from '@rmm/messaging';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const KID = 'spec';
const HEARTBEAT_MS = 500;

/** Who signs in; what is left out is a partner member who may do everything, with a verified factor. */
export interface Person {
  scope?: AccessScope;
  partnerId?: string | null;
  orgId?: string | null;
  orgAccess?: AccessSnapshot['orgAccess'];
  orgIds?: string[];
  siteIds?: string[] | null;
  permissions?: string[];
  mfa?: boolean;
}

/**
 * Identity as a single service under test meets it: public keys over HTTP; snapshots, rights, heartbeats and mail over
 * NATS. Specs of the whole fleet meet the real one.
 */
export class IdentitySide {
  private readonly people = new Map<string, AccessSnapshot>();
  /** How identity answers a policy: `{ value }`, `{ error }`, or nothing at all. */
  judgesPolicy: (request: ApplySecurityPolicyRequest) => object | undefined = () => undefined;
  /** What identity was asked to mail, oldest first. */
  readonly mails: MailSendRequest[] = [];
  private readonly broadcasts: Broadcasts;
  private sequence = 0;
  private beating?: NodeJS.Timeout;

  private constructor(
    readonly link: NatsLink,
    private readonly server: Server,
    private readonly key: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'],
  ) {
    this.broadcasts = new Broadcasts(link);
  }

  static async start(natsUrl: string): Promise<IdentitySide> {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid: KID, alg: 'ES256', use: 'sig' };
    const server = createServer((_, response) => {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ keys: [jwk] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const link = new NatsLink({ url: natsUrl, name: 'identity-side' });
    await link.open();
    const side = new IdentitySide(link, server, privateKey);
    side.serve();
    return side;
  }

  get jwksUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  /** @returns a bearer token */
  async signIn(person: Person = {}): Promise<string> {
    const { scope = 'partner', partnerId = null, orgId = null, mfa = true } = person;
    const [userId, sessionId] = [randomUUID(), randomUUID()];
    const email = `${userId}@example.com`;
    this.people.set(sessionId, snapshotOf(person, { userId, sessionId, email, scope, partnerId, orgId }));
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

  /** Who a token of `signIn` is of. */
  userIdOf(token: string): string {
    return decodeJwt(token).sub ?? '';
  }

  /** Changes what somebody may do, and says so to every service. */
  change(userId: string, to: Partial<AccessSnapshot>): void {
    for (const [sessionId, snapshot] of this.people) {
      if (snapshot.userId === userId) this.people.set(sessionId, { ...snapshot, ...to });
    }
    this.broadcasts.publishNow('access.changed', { userIds: [userId], reason: 'spec' } satisfies AccessChanged);
  }

  async stop(): Promise<void> {
    clearInterval(this.beating);
    await this.link.close();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private serve(): void {
    this.link.connection.subscribe(IDENTITY_ACCESS_RESOLVE.subject, {
      callback: (_, message) => {
        const { sessionId } = message.json<AccessResolveRequest>();
        message.respond(JSON.stringify({ value: this.people.get(sessionId) ?? null }));
      },
    });
    this.link.connection.subscribe(IDENTITY_SECURITY_POLICY_APPLY.subject, {
      callback: (_, message) => {
        const answer = this.judgesPolicy(message.json<ApplySecurityPolicyRequest>());
        if (answer) message.respond(JSON.stringify(answer));
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
    const beat = () =>
      this.broadcasts.publishNow('access.heartbeat', {
        publisher: KID,
        sequence: ++this.sequence,
        intervalMs: HEARTBEAT_MS,
      });
    this.beating = setInterval(beat, HEARTBEAT_MS);
  }

  private inOrganization({ userId, partnerId, orgId }: AccessInOrganizationRequest): AccessInOrganization | null {
    const sessions = [...this.people.values()].filter((snapshot) => snapshot.userId === userId);
    const [person] = sessions;
    if (!person) return null;
    const grants = sessions
      .filter(({ membershipExists }) => membershipExists)
      .filter((snapshot) => reaches(snapshot, partnerId, orgId))
      .map(({ scope, permissions, siteIds, deviceGroupIds }) => ({ scope, permissions, siteIds, deviceGroupIds }));
    return { userId, email: person.email, name: 'Spec Person', active: person.userStatus === 'active', grants };
  }
}

function reaches(person: AccessSnapshot, partnerId: string, orgId: string): boolean {
  if (person.scope === 'system') return true;
  if (person.partnerId !== partnerId) return false;
  if (person.scope === 'organization') return person.orgId === orgId;
  return person.orgAccess === 'all' || (person.orgAccess === 'selected' && person.orgIds.includes(orgId));
}

type Session = Pick<AccessSnapshot, 'userId' | 'sessionId' | 'email' | 'scope' | 'partnerId' | 'orgId'>;

const snapshotOf = (person: Person, session: Session): AccessSnapshot => ({
  ...session,
  userStatus: 'active',
  sessionRevoked: false,
  authEpoch: 1,
  mfaEpoch: 1,
  passwordChangedAt: null,
  membershipExists: true,
  partnerStatus: session.scope === 'system' ? null : 'active',
  roleId: null,
  orgAccess: person.orgAccess ?? (session.scope === 'partner' ? 'all' : 'none'),
  orgIds: person.orgIds ?? [],
  siteIds: person.siteIds ?? null,
  deviceGroupIds: null,
  permissions: person.permissions ?? ['*:*'],
  hasFactor: true,
  mfaEnrollmentRequired: false,
  allowedMfaMethods: ['totp'],
  ipAllowlist: [],
  version: 1,
});
