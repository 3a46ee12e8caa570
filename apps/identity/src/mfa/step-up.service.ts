import { Inject, Injectable } from '@nestjs/common';
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { RateLimits } from '@rmm/rate-limits';
import { RateLimitedError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { RefusedAttemptsService } from '../sessions/refused-attempts.service.js';
import { isFresh, SessionsService } from '../sessions/sessions.service.js';
import type { User } from '../users/user.types.js';
import type { StepUpDto, StepUpOperation } from './dto/step-up.dto.js';
import { MfaStateRepository } from './mfa-state.repository.js';
import { ExistingFactorStepUpRequired, MfaNotEnabled, MfaProofInvalid } from './mfa.errors.js';
import type { Epochs } from './mfa.repository.js';
import { StepUpProofsService } from './step-up-proofs.service.js';

/** The operations that change factors. */
type FactorOperation = Exclude<StepUpOperation, 'change_email'>;

const ROUTE = 'POST /api/v1/auth/mfa/step-up';

/**
 * Verifies a factor again before a sensitive operation. A grant proves this for one operation: it is used once within 300
 * seconds and bound to user, operation, session and both epochs. When Redis is down, methods about grants throw
 * UnavailableError.
 * @see docs/reference/mfa-and-policies.md
 */
@Injectable()
export class StepUpService {
  constructor(
    private readonly sessions: SessionsService,
    private readonly proofs: StepUpProofsService,
    private readonly state: MfaStateRepository,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly refusals: RefusedAttemptsService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Starts a method that needs a message or a challenge.
   * @returns the options of a passkey; nothing for SMS, whose code was sent
   * @throws MfaNotEnabled, MfaMethodMismatch, PasskeyNotAvailable, SmsNotConfigured, RateLimitedError, UpstreamError
   */
  async start(
    caller: UserCaller,
    method: 'sms' | 'passkey',
  ): Promise<PublicKeyCredentialRequestOptionsJSON | undefined> {
    const { user } = await this.sessions.getUser(caller);
    if (!user.mfaEnabled) throw new MfaNotEnabled();
    if (method === 'passkey') return this.proofs.startPasskey(caller, user);
    await this.proofs.sendSms(caller, user);
    return undefined;
  }

  /**
   * Verifies the factor.
   * @returns the id of a grant for one operation in this session
   * @throws MfaProofInvalid, MfaNotEnabled, MfaMethodMismatch, RateLimitedError, ValidationError
   */
  async grant(caller: UserCaller, dto: StepUpDto): Promise<string> {
    const { method, operation } = dto;
    this.proofs.assertComplete(dto);
    const { user } = await this.sessions.getUser(caller);
    await this.countAttempt(caller, user);
    if (!user.mfaEnabled) throw new MfaNotEnabled();
    // The grant is stored before a recovery code is used up for it; its id is unknown until the response.
    const grantId = await this.state.createGrant(bindingOf(caller, user, operation));
    if (!(await this.proofs.verify(caller, user, dto))) {
      const details = { method, operation };
      await this.audit.recordDirect(caller, 'auth.mfa.stepup.failed', toResource(user), details, 'failure');
      throw new MfaProofInvalid();
    }
    await this.limits.reset(this.config.limits.mfaStepUp, caller.userId);
    return grantId;
  }

  /** Returns true when the grant permits the operation. Does not use it: an invalid grant must not cost a code. */
  async isValid(id: string, caller: UserCaller, epochs: Epochs, operation: StepUpOperation): Promise<boolean> {
    return (await this.state.findGrant(id)) === bindingOf(caller, epochs, operation);
  }

  /** Uses a valid grant. @returns true for exactly one of concurrent callers */
  consume(id: string): Promise<boolean> {
    return this.state.consumeGrant(id);
  }

  /**
   * Checks that a user with a factor may change the factors: the session proved one recently, or there is a grant.
   * @returns the grant to use with `consumeFactorGrant`; null when none is needed
   * @throws ExistingFactorStepUpRequired
   */
  async checkFactorGrant(
    caller: UserCaller,
    user: User,
    grantId: string | undefined,
    operation: FactorOperation = 'add_factor',
  ): Promise<string | null> {
    if (!user.mfaEnabled) return null;
    const { factorProofAt, now } = await this.sessions.getProofs(caller);
    if (isFresh(factorProofAt, now)) return null;
    if (grantId === undefined || !(await this.isValid(grantId, caller, user, operation))) {
      throw new ExistingFactorStepUpRequired();
    }
    return grantId;
  }

  /** @throws ExistingFactorStepUpRequired when a concurrent request used the grant */
  async consumeFactorGrant(grantId: string | null): Promise<void> {
    if (grantId !== null && !(await this.consume(grantId))) throw new ExistingFactorStepUpRequired();
  }

  /** @throws RateLimitedError, after an audit entry */
  private async countAttempt({ userId }: UserCaller, user: User): Promise<void> {
    try {
      await this.limits.hit(this.config.limits.mfaStepUp, userId);
    } catch (error) {
      if (error instanceof RateLimitedError) {
        this.refusals.recordForUser(user, { action: 'auth.mfa.stepup.failed', code: error.code, route: ROUTE });
      }
      throw error;
    }
  }
}

const bindingOf = ({ userId, sessionId }: UserCaller, { authEpoch, mfaEpoch }: Epochs, operation: StepUpOperation) =>
  [userId, sessionId, authEpoch, mfaEpoch, operation].join('|');

const toResource = ({ id, name }: User) => ({ type: 'user', id, name });
