import { Inject, Injectable, type NestMiddleware } from '@nestjs/common';
import { NotFoundError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';

/** Responds with 404 to a registration while `ENABLE_REGISTRATION` is false, before its body is validated. */
@Injectable()
export class RegistrationEnabledMiddleware implements NestMiddleware {
  constructor(@Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig) {}

  use(_request: unknown, _response: unknown, next: () => void): void {
    if (!this.config.registrationEnabled) throw new NotFoundError();
    next();
  }
}
