import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { RateLimits, ValidationError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { CurrentSession } from '../sessions/current-session.service.js';
import type { User } from '../users/user.js';
import type { StepUpDto } from './dto/step-up.dto.js';
import { MfaCodeVerifier } from './mfa-code-verifier.service.js';
import { MfaNotEnabled, MfaProofInvalid, PasskeyNotAvailable, SmsNotConfigured } from './mfa.errors.js';
import { StepUpPolicy, type StepUpOperation } from './step-up.policy.js';

/** Proves a factor again before a sensitive operation. @see docs/reference/mfa-and-policies.md */
@Injectable()
export class StepUpService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly session: CurrentSession,
    private readonly codes: MfaCodeVerifier,
    private readonly policy: StepUpPolicy,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Starts a method that needs a message or a challenge. @throws SmsNotConfigured 501, PasskeyNotAvailable 400 */
  start(method: 'sms' | 'passkey'): never {
    throw unsupported(method);
  }

  /**
   * Verifies the factor.
   * @returns the id of a grant for one operation in this session
   * @throws MfaProofInvalid, MfaNotEnabled, RateLimitedError, SmsNotConfigured, PasskeyNotAvailable, ValidationError
   */
  async grant(caller: UserCaller, { method, operation, code }: StepUpDto): Promise<string> {
    if (method === 'sms' || method === 'passkey') throw unsupported(method);
    if (code === undefined) throw ValidationError.forField('code', 'is required');
    await this.limits.hit(this.config.limits.mfaStepUp, caller.userId);
    const { user } = await this.session.getUser(caller);
    if (!user.mfaEnabled) throw new MfaNotEnabled();
    // The grant is stored before a recovery code is used up for it; its id is unknown until the response.
    const grantId = await this.policy.issue(caller, user, operation);
    if (!(await this.verify(caller, user, method, code, operation))) {
      const details = { method, operation };
      await this.audit.recordDirect(caller, 'auth.mfa.stepup.failed', toResource(user), details, 'failure');
      throw new MfaProofInvalid();
    }
    await this.limits.reset(this.config.limits.mfaStepUp, caller.userId);
    return grantId;
  }

  private async verify(
    caller: UserCaller,
    user: User,
    method: 'totp' | 'recovery',
    code: string,
    operation: StepUpOperation,
  ): Promise<boolean> {
    if (method === 'totp' && !(await this.codes.verifyTotp(this.tenants.reader(caller), user.id, code))) return false;
    return this.tenants.transaction(caller, async (tx) => {
      const self = toResource(user);
      if (method === 'recovery') {
        if (!(await this.codes.useRecoveryCode(tx, user.id, code))) return false;
        await this.audit.record(tx, caller, 'auth.mfa.recovery_code.used', self);
      }
      await this.audit.record(tx, caller, 'auth.mfa.stepup.granted', self, { method, operation });
      return true;
    });
  }
}

const toResource = ({ id, name }: User) => ({ type: 'user', id, name });

const unsupported = (method: 'sms' | 'passkey') =>
  method === 'sms' ? new SmsNotConfigured() : new PasskeyNotAvailable();
