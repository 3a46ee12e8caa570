import { Inject, Injectable, type CanActivate } from '@nestjs/common';
import { NotFoundError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';

/** `ENABLE_2FA=false`: the MFA routes do not exist. */
@Injectable()
export class MfaEnabledGuard implements CanActivate {
  constructor(@Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig) {}

  canActivate(): boolean {
    if (!this.config.mfa.enabled) throw new NotFoundError();
    return true;
  }
}
