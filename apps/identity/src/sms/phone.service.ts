import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { UnauthenticatedError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { phoneBucket } from '../limits.js';
import { MfaCodeInvalid } from '../mfa/mfa.errors.js';
import { StepUpService } from '../mfa/step-up.service.js';
import { SessionsService, type IssuedSession, type SessionUser } from '../sessions/sessions.service.js';
import type { User } from '../users/user.types.js';
import { PhonesRepository } from './phones.repository.js';
import { SmsCodesService } from './sms-codes.service.js';

export interface PhoneConfirmation {
  phoneNumber: string;
  code: string;
  stepUpGrantId?: string;
}

/**
 * Verifies the phone number of a user by a code. A user with a factor proves it recently or by a step-up first, so that
 * a stolen session cannot move the factor to another phone.
 * @see docs/reference/mfa-and-policies.md
 */
@Injectable()
export class PhoneService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: PhonesRepository,
    private readonly sessions: SessionsService,
    private readonly stepUp: StepUpService,
    private readonly codes: SmsCodesService,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Sends a code to a number. The same response for every number, whosever it is.
   * @param stepUpGrantId  checked and not used
   * @throws SmsNotConfigured, ExistingFactorStepUpRequired, RateLimitedError, UpstreamError
   */
  async requestCode(caller: UserCaller, phoneNumber: string, stepUpGrantId?: string): Promise<void> {
    this.codes.assertConfigured();
    const { user } = await this.sessions.getUser(caller);
    await this.stepUp.checkFactorGrant(caller, user, stepUpGrantId);
    await this.limits.hit(this.config.limits.phoneVerifyUser, caller.userId);
    await this.limits.hit(this.config.limits.phoneVerifyNumber, phoneBucket(phoneNumber));
    await this.codes.send(purposeOf(caller), phoneNumber);
    await this.audit.recordDirect(caller, 'auth.phone.verify.requested', toResource(user));
  }

  /**
   * Stores the number that the code was sent to. When SMS is the active factor and the number another one, the step-up
   * grant is used and the caller's session issued again.
   * @returns the new session; null when no factor changed
   * @throws SmsNotConfigured, ExistingFactorStepUpRequired, MfaCodeInvalid, RateLimitedError; UnauthenticatedError when the
   *   factors were changed since
   */
  async confirm(
    caller: UserCaller,
    { phoneNumber, code, stepUpGrantId }: PhoneConfirmation,
  ): Promise<IssuedSession | null> {
    this.codes.assertConfigured();
    const owner = await this.sessions.getUser(caller);
    const { user } = owner;
    const grantId = await this.stepUp.checkFactorGrant(caller, user, stepUpGrantId);
    await this.limits.hit(this.config.limits.phoneConfirm, caller.userId);
    if (!(await this.codes.verify(purposeOf(caller), phoneNumber, code))) {
      await this.audit.recordDirect(caller, 'auth.phone.verify.failed', toResource(user), {}, 'failure');
      throw new MfaCodeInvalid();
    }
    const changesFactor = user.mfaMethod === 'sms' && user.phoneNumber !== phoneNumber;
    if (changesFactor) await this.stepUp.consumeFactorGrant(grantId);
    return this.store(caller, owner, phoneNumber, changesFactor);
  }

  private async store(
    caller: UserCaller,
    { user, membership }: SessionUser,
    phoneNumber: string,
    changesFactor: boolean,
  ): Promise<IssuedSession | null> {
    const stored = await this.tenants.transaction(caller, async (tx) => {
      const { mfaEpoch } = user;
      const epochs = await this.repository.store(tx, user.id, { phoneNumber, changesFactor, mfaEpoch });
      if (!epochs) throw new UnauthenticatedError();
      await this.audit.record(tx, caller, 'auth.phone.verify.confirmed', toResource(user), { changesFactor });
      if (!changesFactor) return null;
      const owner = { user: { ...user, ...epochs }, membership };
      // The code proves the new phone, not the factor that was there before.
      return this.sessions.replaceAfterFactorChange(tx, caller, owner, {
        mfa: true,
        factor: 'sms',
        factorProven: false,
      });
    });
    return stored && this.sessions.issue(stored);
  }
}

const purposeOf = ({ userId, sessionId }: UserCaller) => ({ purpose: 'phone', userId, sessionId }) as const;
const toResource = ({ id, name }: User) => ({ type: 'user', id, name });
