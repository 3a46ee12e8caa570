import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { type DynamicModule, Global, Injectable, Module, type OnApplicationBootstrap } from '@nestjs/common';
import {
  ACCESS_SOURCE,
  AccessFeed,
  type AccessSource,
  ORGANIZATION_SOURCE,
  VERIFICATION_KEYS,
  type VerificationKeys,
} from '@rmm/access';
import type { AccessResolveRequest, AccessScope, AccessSnapshot } from '@rmm/contracts';
import { Broadcasts } from '@rmm/messaging';
import type { Organization } from './dispatcher.js';

interface Person {
  scope: AccessScope;
  partnerId: string | null;
  orgId: string | null;
  permissions: string[];
}

const KID = 'spec';
const READ_AND_WRITE = ['organizations:read', 'organizations:write'];
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Stands where identity stands: its keys, its snapshots, its heartbeat. Tokens are real, and really verified. */
export class SignedIn implements AccessSource, VerificationKeys {
  private readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  private readonly people = new Map<string, Person>();

  find(kid: string) {
    return Promise.resolve(kid === KID ? this.keys.publicKey : null);
  }

  /** Signs in somebody of a partner who reaches all its organizations. @returns the header `Authorization` */
  partner(partnerId: string, permissions = READ_AND_WRITE): string {
    return this.as({ scope: 'partner', partnerId, orgId: null, permissions });
  }

  /** Signs in somebody of one organization. @returns the header `Authorization` */
  member({ orgId, partnerId }: Organization, permissions = READ_AND_WRITE): string {
    return this.as({ scope: 'organization', partnerId, orgId, permissions });
  }

  /** Signs in an operator of the platform. @returns the header `Authorization` */
  operator(): string {
    return this.as({ scope: 'system', partnerId: null, orgId: null, permissions: ['*:*'] });
  }

  private as(person: Person): string {
    const userId = randomUUID();
    this.people.set(userId, person);
    const iat = Math.floor(Date.now() / 1_000);
    const { scope, partnerId, orgId } = person;
    const claims = { sub: userId, email: 'ada@msp.example', type: 'access', scope, partnerId, orgId, roleId: userId };
    const rest = {
      mfa: true,
      aep: 1,
      mep: 1,
      sid: userId,
      iat,
      exp: iat + 900,
      iss: 'service-identity',
      aud: 'service-api',
    };
    const body = `${part({ alg: 'ES256', typ: 'JWT', kid: KID })}.${part({ ...claims, ...rest })}`;
    const signature = sign('sha256', Buffer.from(body), { key: this.keys.privateKey, dsaEncoding: 'ieee-p1363' });
    return `Bearer ${body}.${signature.toString('base64url')}`;
  }

  resolve({ userId, sessionId }: AccessResolveRequest): Promise<AccessSnapshot | null> {
    const person = this.people.get(userId);
    if (!person) return Promise.resolve(null);
    return Promise.resolve({
      ...person,
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
      orgAccess: person.scope === 'partner' ? 'all' : 'none',
      orgIds: [],
      siteIds: null,
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
      // No organization but those of the directory.
      { provide: ORGANIZATION_SOURCE, useValue: { get: () => Promise.resolve([]) } },
      Heart,
    ];
    return { module: SignedInModule, providers, exports: providers };
  }
}

@Injectable()
class Heart implements OnApplicationBootstrap {
  constructor(private readonly broadcasts: Broadcasts) {}

  onApplicationBootstrap(): void {
    new AccessFeed(this.broadcasts).start();
  }
}

@Global()
@Module({})
class SignedInModule {}
