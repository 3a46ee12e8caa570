import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { hashKey } from '@rmm/secrets';
import { RateLimits } from '@rmm/service-kit';
import { stranger } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { AddressConfirmationService } from './address-confirmation.service.js';
import type { ConfirmedAddressDto, SignInInsteadDto } from './dto/verification.dto.js';
import { RegistrationCompletionService, type CompletedRegistration } from './registration-completion.service.js';
import { VerificationInvalid } from './registration.errors.js';

const LINK_TOKEN = /^[A-Za-z0-9_-]{48}$/;

export type Verification = SignInInsteadDto | ConfirmedAddressDto | CompletedRegistration;

/** Handles e-mailed links: of registrations, and of addresses of existing users. */
@Injectable()
export class EmailVerificationService {
  constructor(
    private readonly registrations: RegistrationCompletionService,
    private readonly addresses: AddressConfirmationService,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws VerificationInvalid for a link that is unknown, used or expired; RateLimitedError */
  async verify(token: string, client: string): Promise<Verification> {
    await this.limits.hit(this.config.limits.verifyEmail, client);
    const verification = LINK_TOKEN.test(token) ? await this.verifyHash(hashKey(token)) : null;
    if (verification) return verification;
    await this.audit.recordDirect(stranger(), 'auth.email_verify_failed', { type: 'registration' }, {}, 'failure');
    throw new VerificationInvalid();
  }

  private async verifyHash(tokenHash: Buffer): Promise<Verification | null> {
    const registration = await this.registrations.complete(tokenHash);
    if (registration === 'taken') return { verified: false, status: 'sign_in' };
    return registration ?? this.addresses.confirm(tokenHash);
  }
}
