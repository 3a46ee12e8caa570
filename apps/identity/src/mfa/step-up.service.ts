import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { RateLimits, ValidationError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { OwnSession } from '../sessions/own-session.js';
import type { User } from '../users/user.js';
import { CodeChecker } from './code-checker.js';
import type { StepUpDto } from './dto.js';
import { MfaNotEnabled, MfaProofInvalid, PasskeyNotAvailable, SmsNotConfigured } from './mfa.errors.js';
import { StepUpGrants, type StepUpOperation } from './step-up-grants.js';

/** Proving a factor again before something dangerous. @see CONTRACT.md 4.7, "step-up grants" */
@Injectable()
export class StepUpService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly session: OwnSession,
    private readonly codes: CodeChecker,
    private readonly grants: StepUpGrants,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Sends a code or makes a challenge. @throws SmsNotConfigured 501, PasskeyNotAvailable 400 */
  start(method: 'sms' | 'passkey'): never {
    throw notServed(method);
  }

  /**
   * @returns the id of a grant for one operation in this session
   * @throws MfaProofInvalid, MfaNotEnabled, RateLimitedError, SmsNotConfigured, PasskeyNotAvailable, ValidationError
   */
  async grant(caller: UserCaller, { method, operation, code }: StepUpDto): Promise<string> {
    if (method === 'sms' || method === 'passkey') throw notServed(method);
    if (code === undefined) throw ValidationError.of('code', 'is required');
    await this.limits.hit(this.config.limits.mfaStepUp, caller.userId);
    const { user } = await this.session.userOf(caller);
    if (!user.mfaEnabled) throw new MfaNotEnabled();
    // Nobody knows a grant before it is answered, so it may exist before a recovery code is used up for it.
    const grantId = await this.grants.issue(caller, user, operation);
    if (!(await this.prove(caller, user, method, code, operation))) {
      await this.audit.recordDirect(caller, 'auth.mfa.stepup.failed', selfOf(user), { method, operation }, 'failure');
      throw new MfaProofInvalid();
    }
    await this.limits.reset(this.config.limits.mfaStepUp, caller.userId);
    return grantId;
  }

  private async prove(
    caller: UserCaller,
    user: User,
    method: 'totp' | 'recovery',
    code: string,
    operation: StepUpOperation,
  ): Promise<boolean> {
    if (method === 'totp' && !(await this.codes.checkTotp(this.tenants.reader(caller), user.id, code))) return false;
    return this.tenants.transaction(caller, async (tx) => {
      const self = selfOf(user);
      if (method === 'recovery') {
        if (!(await this.codes.useRecoveryCode(tx, user.id, code))) return false;
        await this.audit.record(tx, caller, 'auth.mfa.recovery_code.used', self);
      }
      await this.audit.record(tx, caller, 'auth.mfa.stepup.granted', self, { method, operation });
      return true;
    });
  }
}

const selfOf = ({ id, name }: User) => ({ type: 'user', id, name });

const notServed = (method: 'sms' | 'passkey') =>
  method === 'sms' ? new SmsNotConfigured() : new PasskeyNotAvailable();
