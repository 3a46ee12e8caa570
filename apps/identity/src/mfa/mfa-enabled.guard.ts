import { Inject, Injectable, type CanActivate } from '@nestjs/common';
import { NotFoundError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';

/** Responds with 404 to MFA routes while `ENABLE_2FA` is false. */
@Injectable()
export class MfaEnabledGuard implements CanActivate {
  constructor(@Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig) {}

  canActivate(): boolean {
    if (!this.config.mfa.enabled) throw new NotFoundError();
    return true;
  }
}
