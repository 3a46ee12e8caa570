import { Inject, Injectable } from '@nestjs/common';
import qrcode from 'qrcode';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { RateLimits } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { CurrentSession } from '../sessions/current-session.service.js';
import type { IssuedSession } from '../sessions/sessions.service.js';
import type { MfaSetupStartedDto } from './dto/mfa-setup-started.dto.js';
import { MfaCodeVerifier } from './mfa-code-verifier.service.js';
import { MfaFactorChanges } from './mfa-factor-changes.service.js';
import { MfaCodeInvalid, MfaNotEnabled, MfaSetupNotPending } from './mfa.errors.js';
import { newRecoveryCodes } from './recovery-codes.js';
import { StepUpPolicy } from './step-up.policy.js';
import { TotpSetups, type TotpSetup } from './totp-setups.service.js';
import { newTotpSecret, totpUrl } from './totp.js';

export interface IssuedFactor {
  session: IssuedSession;
  recoveryCodes: string[];
}

/** Enrolls an authenticator app: shown once, confirmed by a first code within ten minutes. Replaces recovery codes. */
@Injectable()
export class MfaSetupService {
  constructor(
    private readonly session: CurrentSession,
    private readonly setups: TotpSetups,
    private readonly codes: MfaCodeVerifier,
    private readonly stepUp: StepUpPolicy,
    private readonly changes: MfaFactorChanges,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Creates a secret and recovery codes for the caller to confirm.
   * @param grantId  of a step-up when the account has another factor; it is not used yet
   * @throws MfaAlreadyEnabled, MfaMethodNotAllowed, ExistingFactorStepUpRequired
   */
  async start(caller: UserCaller, grantId?: string): Promise<MfaSetupStartedDto> {
    const owner = await this.session.getUser(caller);
    await this.changes.assertMayEnableTotp(caller, owner);
    await this.stepUp.checkFactorGrant(caller, owner.user, grantId);
    const setup: TotpSetup = { secret: newTotpSecret(), recoveryCodes: newRecoveryCodes() };
    await this.setups.create(caller.userId, caller.sessionId, setup);
    const self = { type: 'user', id: owner.user.id, name: owner.user.name };
    await this.audit.recordDirect(caller, 'auth.mfa.setup', self, { method: 'totp' });
    const otpAuthUrl = totpUrl(setup.secret, caller.email, this.config.mfa.issuer);
    return { ...setup, otpAuthUrl, qrCodeDataUrl: await qrcode.toDataURL(otpAuthUrl) };
  }

  /**
   * Enables the pending authenticator app. An invalid grant is refused before the code is checked, and a wrong code uses
   * up no grant.
   * @throws MfaSetupNotPending, MfaCodeInvalid, MfaAlreadyEnabled, MfaMethodNotAllowed, ExistingFactorStepUpRequired,
   *   RateLimitedError
   */
  async confirm(caller: UserCaller, code: string, stepUpGrantId?: string): Promise<IssuedFactor> {
    const { userId, sessionId } = caller;
    await this.limits.hit(this.config.limits.mfaVerify, userId);
    const setup = await this.setups.find(userId, sessionId);
    if (!setup) throw new MfaSetupNotPending();
    const owner = await this.session.getUser(caller);
    await this.changes.assertMayEnableTotp(caller, owner);
    const grantId = await this.stepUp.checkFactorGrant(caller, owner.user, stepUpGrantId);
    if (!(await this.codes.verifySecret(userId, setup.secret, code))) {
      const self = { type: 'user', id: userId, name: owner.user.name };
      await this.audit.recordDirect(caller, 'auth.mfa.setup.failed', self, {}, 'failure');
      throw new MfaCodeInvalid();
    }
    await this.stepUp.consumeFactorGrant(grantId);
    if (!(await this.setups.consume(userId, sessionId))) throw new MfaSetupNotPending();

    const session = await this.changes.enableTotp(caller, owner, setup);
    await this.limits.reset(this.config.limits.mfaVerify, userId);
    return { session, recoveryCodes: setup.recoveryCodes };
  }

  /**
   * Replaces all recovery codes; the old ones become invalid at once. Of concurrent calls one succeeds.
   * @throws MfaNotEnabled; UnauthenticatedError when the factors were changed since
   */
  async replaceRecoveryCodes(caller: UserCaller): Promise<IssuedFactor> {
    const owner = await this.session.getUser(caller);
    if (!owner.user.mfaEnabled) throw new MfaNotEnabled();
    const recoveryCodes = newRecoveryCodes();
    return { session: await this.changes.replaceRecoveryCodes(caller, owner, recoveryCodes), recoveryCodes };
  }
}
