import { Inject, Injectable } from '@nestjs/common';
import { SignJWT } from 'jose';
import { randomUUID } from 'node:crypto';
import type { AccessScope } from '@rmm/contracts';
import { Clock } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { SigningKeys } from '../signing-keys/signing-keys.service.js';
import type { TokensDto } from './dto/session.dto.js';

/** The claims of an access token. @see docs/reference/authentication.md */
export interface SessionClaims {
  sub: string;
  email: string;
  scope: AccessScope;
  partnerId: string | null;
  orgId: string | null;
  roleId: string | null;
  mfa: boolean;
  /** Authentication epoch of the user. */
  aep: number;
  /** MFA epoch of the user. */
  mep: number;
  sid: string;
}

/** Signs access tokens. */
@Injectable()
export class AccessTokens {
  constructor(
    private readonly keys: SigningKeys,
    private readonly clock: Clock,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Signs an access token.
   * @param notBefore  the database clock when the session was stored; clocks of hosts differ, the token is never older
   */
  async mint({ sub, ...claims }: SessionClaims, notBefore: Date): Promise<TokensDto> {
    const { kid, key } = this.keys.signing;
    const expiresInSeconds = this.config.accessTokenTtlSeconds;
    const issuedAt = Math.floor(Math.max(this.clock.nowMs(), notBefore.getTime()) / 1000);
    const accessToken = await new SignJWT({ ...claims, type: 'access' })
      .setProtectedHeader({ alg: 'ES256', kid })
      .setSubject(sub)
      .setJti(randomUUID())
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + expiresInSeconds)
      .setIssuer(this.config.jwtIssuer)
      .setAudience(this.config.jwtAudience)
      .sign(key);
    return { accessToken, expiresInSeconds };
  }
}
