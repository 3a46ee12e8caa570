import { type ExecutionContext, Injectable } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import { UnavailableError } from '@rmm/service-kit';
import { InvalidAccessToken } from '../access.errors.js';
import type { AccessRequest, AccessResponse } from '../callers/access-request.js';
import type { AccessTokenClaims } from './access-token.js';
import { JwtStrategy } from './jwt.strategy.js';

/** Passport's guard for access tokens. `TokenVerifier` runs it for tokens that are not in its cache. */
@Injectable()
export class JwtAuthGuard extends AuthGuard() {
  constructor(strategy: JwtStrategy) {
    super({ defaultStrategy: strategy.registeredName });
  }

  /**
   * Verifies the bearer token of a request and returns its claims.
   * @throws InvalidAccessToken  401; UnavailableError 503 when the public keys cannot be read
   */
  async verify(request: AccessRequest, response: AccessResponse): Promise<AccessTokenClaims> {
    const http = { getRequest: () => request, getResponse: () => response };
    await this.canActivate({ switchToHttp: () => http } as unknown as ExecutionContext);
    return (request as AccessRequest & { user: AccessTokenClaims }).user;
  }

  /** Maps the result of passport to the claims or to an error of this library. */
  override handleRequest<T>(error: unknown, claims: T | false | null, info: unknown): T {
    if (claims) return claims;
    if (error instanceof Error) throw error;
    throw info instanceof UnavailableError ? info : new InvalidAccessToken();
  }
}
