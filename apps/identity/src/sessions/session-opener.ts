import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { mintOpaqueToken } from '@rmm/secrets';
import { currentContext } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { sessionLifetimeHours } from '../security-policy/security-policy.js';
import type { UserMembership, User } from '../users/user.js';
import { AccessTokens, type SessionClaims } from './access-tokens.js';
import { newCsrfToken } from './session-cookies.js';
import type { SessionDto } from './session.dto.js';
import { SessionsRepository, type NewFamily, type NewToken, type SessionMethod } from './sessions.repository.js';

export interface SessionOptions {
  method: SessionMethod;
  /** A factor was verified in this session. */
  mfa: boolean;
  factorProven?: boolean;
  passwordProven?: boolean;
  /** The family this one replaces: its end, method and proofs are taken over. */
  replaces?: string;
}

/** A session that is stored; its access token is signed after the commit. */
export interface OpenedSession {
  refreshToken: string;
  csrfToken: string;
  claims: SessionClaims;
  /** The database clock when it was stored: the access token is never older. */
  storedAt: Date;
}

/** What a client gets of a session. */
export interface IssuedSession extends SessionDto {
  refreshToken: string;
}

/** Makes refresh families and hands out their tokens. @see CONTRACT.md 2.3 */
@Injectable()
export class SessionOpener {
  constructor(
    private readonly repository: SessionsRepository,
    private readonly accessTokens: AccessTokens,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Stores a new family with its first token, in the transaction of what earned it. */
  async open(tx: SqlExecutor, user: User, membership: UserMembership, options: SessionOptions): Promise<OpenedSession> {
    const id = randomUUID();
    const context = currentContext();
    const mfa = this.carriesMfa(options);
    const { key, keyHash } = mintOpaqueToken();
    const family: NewFamily = {
      id,
      userId: user.id,
      scope: membership.scope,
      partnerId: membership.partnerId,
      orgId: membership.orgId,
      mfa,
      method: options.method,
      authEpoch: user.authEpoch,
      mfaEpoch: user.mfaEpoch,
      ipAddress: context?.ipAddress ?? null,
      userAgent: context?.userAgent ?? null,
      absoluteTtlHours: this.lifetimeHours(membership),
      factorProven: options.factorProven ?? false,
      passwordProven: options.passwordProven ?? false,
      replaces: options.replaces ?? null,
    };
    const storedAt = await this.repository.insertFamily(tx, family, this.newToken(keyHash));
    return { refreshToken: key, csrfToken: newCsrfToken(), claims: claimsOf(user, membership, id, mfa), storedAt };
  }

  /** The claim `mfa`: a factor was verified, or factors are switched off. */
  carriesMfa({ mfa }: Pick<SessionOptions, 'mfa'>): boolean {
    return mfa || !this.config.mfa.enabled;
  }

  /** How long a session in this membership may live: the configured time, or less where an owner says so. */
  lifetimeHours(membership: UserMembership): number {
    const configured = this.config.refreshFamilyAbsoluteTtlDays * 24;
    return Math.min(configured, sessionLifetimeHours(membership) ?? configured);
  }

  /** Adds a token to a family. @returns the raw token, stored only as a hash */
  async addToken(tx: SqlExecutor, familyId: string, userId: string): Promise<string> {
    const { key, keyHash } = mintOpaqueToken();
    await this.repository.insertToken(tx, familyId, userId, this.newToken(keyHash));
    return key;
  }

  private newToken(tokenHash: Buffer): NewToken {
    return { tokenHash, ttlDays: this.config.refreshTokenTtlDays };
  }

  /** Signs the access token of a stored session; after the commit, never inside the transaction. */
  async issue({ refreshToken, csrfToken, claims, storedAt }: OpenedSession): Promise<IssuedSession> {
    return { tokens: await this.accessTokens.mint(claims, storedAt), csrfToken, refreshToken };
  }
}

export const claimsOf = (user: User, membership: UserMembership, familyId: string, mfa: boolean): SessionClaims => ({
  sub: user.id,
  email: user.email,
  scope: membership.scope,
  partnerId: membership.partnerId,
  orgId: membership.orgId,
  roleId: membership.roleId,
  mfa,
  aep: user.authEpoch,
  mep: user.mfaEpoch,
  sid: familyId,
});
