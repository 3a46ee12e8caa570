import { Inject, Injectable, type NestMiddleware } from '@nestjs/common';
import { NotFoundError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';

/**
 * Responds with 404 to MFA routes while `ENABLE_2FA` is false. A middleware runs before the access guard, so that callers
 * without a token read the same.
 */
@Injectable()
export class MfaEnabledMiddleware implements NestMiddleware {
  constructor(@Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig) {}

  use(_request: unknown, _response: unknown, next: () => void): void {
    if (!this.config.mfa.enabled) throw new NotFoundError();
    next();
  }
}
