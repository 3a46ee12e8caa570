import { Inject, Injectable } from '@nestjs/common';
import qrcode from 'qrcode';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { AccountProofsService, type AccountProofs } from '../passwords/account-proofs.service.js';
import { CurrentPasswordWrong, ReauthenticationRequired } from '../passwords/password.errors.js';
import { SessionsService, type IssuedSession, type SessionUser } from '../sessions/sessions.service.js';
import type { User } from '../users/user.types.js';
import type { MfaSetupStartedDto } from './dto/mfa-setup-started.dto.js';
import { MfaCodesService } from './mfa-codes.service.js';
import { MfaFactorsService } from './mfa-factors.service.js';
import { MfaStateRepository, type TotpSetup } from './mfa-state.repository.js';
import {
  MfaCodeInvalid,
  MfaNotEnabled,
  MfaRequiredByPolicy,
  MfaSetupNotPending,
  ReplacementSessionRequired,
} from './mfa.errors.js';
import { requiresFactor, toMfaPolicyInput } from './mfa.policy.js';
import { newRecoveryCodes } from './recovery-codes.js';
import { StepUpService } from './step-up.service.js';
import { newTotpSecret, totpUrl } from './totp.js';

/** Filter 2 of PNG ("Up") for each line: trying all five filters, the default, blocks the event loop 2.5 times as long. */
const QR_CODE_OPTIONS = { type: 'image/png', rendererOpts: { filterType: 2 } } as const;

export interface IssuedFactor {
  session: IssuedSession;
  recoveryCodes: string[];
}

export interface DisableProofs extends AccountProofs {
  /** A code of the authenticator app, or a recovery code. */
  code: string;
  /** The token of the current session, from the body or its cookie. */
  refreshToken: string | undefined;
}

type Refusal = 'policy' | 'wrong_password' | 'no_reauthentication' | 'wrong_code';

/**
 * Enrolls an authenticator app: shown once, confirmed by a first code within ten minutes. Replaces recovery codes, and
 * disables the factor at the request of its user.
 * @see docs/reference/mfa-and-policies.md
 */
@Injectable()
export class MfaEnrollmentService {
  constructor(
    private readonly sessions: SessionsService,
    private readonly proofs: AccountProofsService,
    private readonly state: MfaStateRepository,
    private readonly codes: MfaCodesService,
    private readonly stepUp: StepUpService,
    private readonly factors: MfaFactorsService,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Creates a secret and recovery codes for the caller to confirm.
   * @param grantId  of a step-up when the account has another factor; it is not used yet
   * @throws MfaAlreadyEnabled, MfaMethodNotAllowed, ExistingFactorStepUpRequired
   */
  async start(caller: UserCaller, grantId?: string): Promise<MfaSetupStartedDto> {
    const owner = await this.sessions.getUser(caller);
    await this.factors.assertMayEnableTotp(caller, owner);
    await this.stepUp.checkFactorGrant(caller, owner.user, grantId);
    const setup: TotpSetup = { secret: newTotpSecret(), recoveryCodes: newRecoveryCodes() };
    await this.state.createSetup(caller, setup);
    const self = { type: 'user', id: owner.user.id, name: owner.user.name };
    await this.audit.recordDirect(caller, 'auth.mfa.setup', self, { method: 'totp' });
    const otpAuthUrl = totpUrl(setup.secret, caller.email, this.config.mfa.issuer);
    return { ...setup, otpAuthUrl, qrCodeDataUrl: await qrcode.toDataURL(otpAuthUrl, QR_CODE_OPTIONS) };
  }

  /**
   * Enables the pending authenticator app. An invalid grant is refused before the code is checked, and a wrong code uses
   * up no grant.
   * @throws MfaSetupNotPending, MfaCodeInvalid, MfaAlreadyEnabled, MfaMethodNotAllowed, ExistingFactorStepUpRequired,
   *   RateLimitedError
   */
  async confirm(caller: UserCaller, code: string, stepUpGrantId?: string): Promise<IssuedFactor> {
    const { userId } = caller;
    await this.codes.countAttempt(userId);
    const setup = await this.state.findSetup(caller);
    if (!setup) throw new MfaSetupNotPending();
    const owner = await this.sessions.getUser(caller);
    await this.factors.assertMayEnableTotp(caller, owner);
    const grantId = await this.stepUp.checkFactorGrant(caller, owner.user, stepUpGrantId);
    if (!(await this.codes.verifySecret(userId, setup.secret, code))) {
      const self = { type: 'user', id: userId, name: owner.user.name };
      await this.audit.recordDirect(caller, 'auth.mfa.setup.failed', self, {}, 'failure');
      throw new MfaCodeInvalid();
    }
    await this.stepUp.consumeFactorGrant(grantId);
    if (!(await this.state.consumeSetup(caller))) throw new MfaSetupNotPending();

    const session = await this.factors.enableTotp(caller, owner, setup);
    await this.codes.clearAttempts(userId);
    return { session, recoveryCodes: setup.recoveryCodes };
  }

  /**
   * Replaces all recovery codes; the old ones become invalid at once. Of concurrent calls one succeeds.
   * @param stepUpGrantId  of a step-up when the session proved no factor within the last ten minutes
   * @throws MfaNotEnabled, ExistingFactorStepUpRequired; UnauthenticatedError when the factors were changed since
   */
  async replaceRecoveryCodes(caller: UserCaller, stepUpGrantId?: string): Promise<IssuedFactor> {
    const owner = await this.sessions.getUser(caller);
    if (!owner.user.mfaEnabled) throw new MfaNotEnabled();
    const grantId = await this.stepUp.checkFactorGrant(caller, owner.user, stepUpGrantId, 'replace_recovery_codes');
    await this.stepUp.consumeFactorGrant(grantId);
    const recoveryCodes = newRecoveryCodes();
    return { session: await this.factors.replaceRecoveryCodes(caller, owner, recoveryCodes), recoveryCodes };
  }

  /**
   * Disables the factor: deletes secret, phone and recovery codes and ends every session; the caller's is issued again.
   * @throws MfaNotEnabled, MfaRequiredByPolicy, ReplacementSessionRequired, CurrentPasswordWrong or
   *   ReauthenticationRequired, RateLimitedError, MfaCodeInvalid; in this order
   */
  async disable(caller: UserCaller, proofs: DisableProofs): Promise<IssuedSession> {
    const owner = await this.sessions.getUser(caller);
    const { user } = owner;
    if (!user.mfaEnabled) throw new MfaNotEnabled();
    if (this.isRequired(owner)) return this.refuse(caller, user, 'policy', new MfaRequiredByPolicy());
    if (!(await this.sessions.ownsRefreshToken(caller, proofs.refreshToken))) throw new ReplacementSessionRequired();
    const grantId = await this.verifyOwner(caller, user, proofs);
    await this.codes.countAttempt(user.id);
    const session = await this.factors.disable(caller, owner, proofs.code, () => this.proofs.consume(caller, grantId));
    if (!session) return this.refuse(caller, user, 'wrong_code', new MfaCodeInvalid());
    await this.codes.clearAttempts(user.id);
    return session;
  }

  /** Asks the entered membership alone: another one meets the user with its enrollment gate when it is entered. */
  private isRequired({ user, membership }: SessionUser): boolean {
    return requiresFactor(toMfaPolicyInput(user, membership), this.config.mfa);
  }

  private async verifyOwner(caller: UserCaller, user: User, proofs: AccountProofs): Promise<string | null> {
    try {
      return await this.proofs.verify(caller, user, proofs);
    } catch (error) {
      if (error instanceof CurrentPasswordWrong) return this.refuse(caller, user, 'wrong_password', error);
      if (error instanceof ReauthenticationRequired) return this.refuse(caller, user, 'no_reauthentication', error);
      throw error;
    }
  }

  private async refuse(caller: UserCaller, { id, name }: User, reason: Refusal, error: Error): Promise<never> {
    const result = reason === 'policy' ? 'denied' : 'failure';
    await this.audit.recordDirect(caller, 'auth.mfa.disable.failed', { type: 'user', id, name }, { reason }, result);
    throw error;
  }
}
