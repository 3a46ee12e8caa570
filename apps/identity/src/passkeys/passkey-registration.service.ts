import { Inject, Injectable } from '@nestjs/common';
import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { isUniqueViolation } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { StepUpService } from '../mfa/step-up.service.js';
import { AccountProofsService, type AccountProofs } from '../passwords/account-proofs.service.js';
import { CurrentPasswordWrong } from '../passwords/password.errors.js';
import { SessionsService } from '../sessions/sessions.service.js';
import type { User } from '../users/user.types.js';
import { PasskeyAttestationsService } from './passkey-attestations.service.js';
import { PasskeyFactorsService, type RegisteredPasskey } from './passkey-factors.service.js';
import { PasskeyRegistrationInvalid } from './passkey.errors.js';

export interface PasskeyRegistration {
  credential: Record<string, unknown>;
  name?: string;
  stepUpGrantId?: string;
}

const ACTION = 'auth.mfa.passkey.register.failed';

/**
 * Registers passkeys of the signed-in user: the current password or a fresh sign-in at the identity provider, a step-up
 * where the account has a factor, and the response of the authenticator to a challenge of this session.
 * @see docs/reference/mfa-and-policies.md
 */
@Injectable()
export class PasskeyRegistrationService {
  constructor(
    private readonly sessions: SessionsService,
    private readonly proofs: AccountProofsService,
    private readonly stepUp: StepUpService,
    private readonly attestations: PasskeyAttestationsService,
    private readonly factors: PasskeyFactorsService,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Creates the options for the authenticator. A step-up grant is checked and not used, one of the identity provider is.
   * @throws ExistingFactorStepUpRequired, CurrentPasswordWrong, ReauthenticationRequired, TooManyPasskeys, RateLimitedError
   */
  async start(
    caller: UserCaller,
    { name, stepUpGrantId, ...proofs }: AccountProofs & { name?: string; stepUpGrantId?: string },
  ): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const { user } = await this.sessions.getUser(caller);
    await this.stepUp.checkFactorGrant(caller, user, stepUpGrantId);
    await this.verifyOwner(caller, user, proofs);
    await this.limits.hit(this.config.limits.passkeyOptions, caller.userId);
    return this.attestations.start(caller, user, name);
  }

  /**
   * Stores the passkey of the authenticator's response. The challenge is used up whatever comes of it.
   * @throws PasskeyRegistrationInvalid, ExistingFactorStepUpRequired, TooManyPasskeys
   */
  async finish(caller: UserCaller, registration: PasskeyRegistration): Promise<RegisteredPasskey> {
    const { credential, stepUpGrantId } = registration;
    const owner = await this.sessions.getUser(caller);
    const verified = await this.attestations.verify(caller, credential);
    if (!verified) return this.refuse(caller, owner.user, 'credential');
    const grantId = await this.stepUp.checkFactorGrant(caller, owner.user, stepUpGrantId);
    await this.stepUp.consumeFactorGrant(grantId);
    const name = registration.name ?? verified.name;
    try {
      return await this.factors.add(caller, owner, { ...verified.credential, name });
    } catch (error) {
      // The same response as for a wrong one: it must not reveal that another account has the credential.
      if (isUniqueViolation(error, 'passkey_credential_key')) return this.refuse(caller, owner.user, 'registered');
      throw error;
    }
  }

  private async verifyOwner(caller: UserCaller, user: User, proofs: AccountProofs): Promise<void> {
    try {
      await this.proofs.use(caller, user, proofs, this.config.limits.passkeyPassword);
    } catch (error) {
      if (error instanceof CurrentPasswordWrong) await this.recordFailure(caller, user, 'wrong_password');
      throw error;
    }
  }

  private async refuse(caller: UserCaller, user: User, reason: string): Promise<never> {
    await this.recordFailure(caller, user, reason);
    throw new PasskeyRegistrationInvalid();
  }

  private async recordFailure(caller: UserCaller, { id, name }: User, reason: string): Promise<void> {
    await this.audit.recordDirect(caller, ACTION, { type: 'user', id, name }, { reason }, 'failure');
  }
}
