import { type DynamicModule, Global, Injectable, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import {
  ACCESS_SOURCE,
  HeartbeatPublisher,
  type AccessSource,
  VERIFICATION_KEYS,
  type VerificationKeys,
} from '@rmm/access';
import { type AccessResolveRequest, type AccessScope, type AccessSnapshot } from '@rmm/contracts';
import { Broadcasts } from '@rmm/messaging';
import type { Organization } from './dispatcher-test-cluster.js';

interface TestUser {
  scope: AccessScope;
  partnerId: string | null;
  orgId: string | null;
  permissions: AccessSnapshot['permissions'];
  /** The organizations of a partner user with access to selected ones. */
  orgIds?: string[];
  /** The sites that a user is restricted to. */
  siteIds?: string[];
  /** False for a session without a second factor. */
  mfa?: boolean;
}

const KID = 'spec';
const READ_AND_WRITE: AccessSnapshot['permissions'] = ['organizations:read', 'organizations:write'];
const encodePart = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Replaces identity: its keys, access snapshots and heartbeat. Tokens are signed, and verified as in production. */
export class FakeAccess implements AccessSource, VerificationKeys {
  private readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  private readonly users = new Map<string, TestUser>();

  find(kid: string) {
    return Promise.resolve(kid === KID ? this.keys.publicKey : null);
  }

  /** Signs in a partner user with access to all organizations. @returns the `Authorization` header */
  partner(partnerId: string, permissions = READ_AND_WRITE, mfa = true): string {
    return this.signIn({ scope: 'partner', partnerId, orgId: null, permissions, mfa });
  }

  /** Signs in a partner user with access to selected organizations. @returns the `Authorization` header */
  partnerOf(orgIds: string[], partnerId: string, permissions = READ_AND_WRITE): string {
    return this.signIn({ scope: 'partner', partnerId, orgId: null, permissions, orgIds });
  }

  /** Signs in a user of one organization, or of some of its sites. @returns the `Authorization` header */
  member({ orgId, partnerId }: Organization, permissions = READ_AND_WRITE, siteIds?: string[]): string {
    return this.signIn({ scope: 'organization', partnerId, orgId, permissions, siteIds });
  }

  /** Signs in an operator of the platform. @returns the `Authorization` header */
  operator(): string {
    return this.signIn({ scope: 'system', partnerId: null, orgId: null, permissions: ['*:*'] });
  }

  private signIn(user: TestUser): string {
    const userId = randomUUID();
    this.users.set(userId, user);
    const iat = Math.floor(Date.now() / 1_000);
    const { scope, partnerId, orgId } = user;
    const claims = { sub: userId, email: 'ada@msp.example', type: 'access', scope, partnerId, orgId, roleId: userId };
    const rest = {
      mfa: user.mfa ?? true,
      aep: 1,
      mep: 1,
      sid: userId,
      iat,
      exp: iat + 900,
      iss: 'service-identity',
      aud: 'service-api',
    };
    const body = `${encodePart({ alg: 'ES256', typ: 'JWT', kid: KID })}.${encodePart({ ...claims, ...rest })}`;
    const signature = sign('sha256', Buffer.from(body), { key: this.keys.privateKey, dsaEncoding: 'ieee-p1363' });
    return `Bearer ${body}.${signature.toString('base64url')}`;
  }

  resolve({ userId, sessionId }: AccessResolveRequest): Promise<AccessSnapshot | null> {
    const user = this.users.get(userId);
    if (!user) return Promise.resolve(null);
    return Promise.resolve({
      ...user,
      userId,
      sessionId,
      email: 'ada@msp.example',
      userStatus: 'active',
      sessionRevoked: false,
      authEpoch: 1,
      mfaEpoch: 1,
      passwordChangedAt: null,
      membershipExists: true,
      partnerStatus: 'active',
      roleId: userId,
      orgAccess: user.scope !== 'partner' ? 'none' : user.orgIds ? 'selected' : 'all',
      orgIds: user.orgIds ?? [],
      siteIds: user.siteIds ?? null,
      deviceGroupIds: null,
      hasFactor: true,
      mfaEnrollmentRequired: false,
      allowedMfaMethods: ['totp'],
      ipAllowlist: [],
      version: 1,
    });
  }

  module(): DynamicModule {
    const providers = [
      { provide: ACCESS_SOURCE, useValue: this },
      { provide: VERIFICATION_KEYS, useValue: this },
      StartHeartbeat,
    ];
    return { module: FakeAccessModule, providers, exports: providers };
  }
}

@Injectable()
class StartHeartbeat implements OnApplicationBootstrap {
  constructor(private readonly broadcasts: Broadcasts) {}

  onApplicationBootstrap(): void {
    new HeartbeatPublisher(this.broadcasts, 'access.heartbeat').onApplicationBootstrap();
  }
}

@Global()
@Module({})
class FakeAccessModule {}
