import { Inject, Injectable } from '@nestjs/common';
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { ValidationError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { PasskeyAssertionsService } from '../passkeys/passkey-assertions.service.js';
import type { User } from '../users/user.types.js';
import type { StepUpDto } from './dto/step-up.dto.js';
import { MfaCodesService } from './mfa-codes.service.js';
import { MfaMethodMismatch } from './mfa.errors.js';

/** Verifies a factor of a signed-in user: a code, or one of its passkeys. */
@Injectable()
export class StepUpProofsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly codes: MfaCodesService,
    private readonly passkeys: PasskeyAssertionsService,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Sends a code to the number of the active SMS factor.
   * @throws MfaMethodMismatch, SmsNotConfigured, RateLimitedError, UpstreamError
   */
  async sendSms(caller: UserCaller, user: User): Promise<void> {
    await this.codes.sendSms(bindingOf(caller), user);
    await this.audit.recordDirect(caller, 'auth.mfa.sms.sent', toResource(user));
  }

  /** Creates a challenge for the user's passkeys. @throws PasskeyNotAvailable, RateLimitedError */
  async startPasskey(caller: UserCaller, user: User): Promise<PublicKeyCredentialRequestOptionsJSON> {
    await this.limits.hit(this.config.limits.passkeyOptions, user.id);
    return this.passkeys.start(caller, bindingOf(caller), user.id);
  }

  /** Checks that the body has what its method needs. @throws ValidationError */
  assertComplete({ method, code, credential }: StepUpDto): void {
    if (method === 'passkey' && credential === undefined) throw ValidationError.forField('credential', 'is required');
    if (method !== 'passkey' && code === undefined) throw ValidationError.forField('code', 'is required');
  }

  /** Verifies and uses the factor. @throws MfaMethodMismatch when SMS is not the active factor */
  async verify(caller: UserCaller, user: User, dto: StepUpDto): Promise<boolean> {
    const { method, operation, code = '', credential = {} } = dto;
    const use = await this.verifyFactor(caller, user, { method, code, credential });
    if (!use) return false;
    return this.tenants.transaction(caller, async (tx) => {
      if (!(await use(tx))) return false;
      await this.audit.record(tx, caller, 'auth.mfa.stepup.granted', toResource(user), { method, operation });
      return true;
    });
  }

  /** @returns what uses the factor in a transaction; null when the proof is wrong */
  private async verifyFactor(
    caller: UserCaller,
    user: User,
    { method, code, credential }: Required<Pick<StepUpDto, 'method' | 'code' | 'credential'>>,
  ): Promise<((tx: TenantTransaction) => Promise<boolean>) | null> {
    switch (method) {
      case 'totp':
        return (await this.codes.verifyTotp(this.tenants.reader(caller), user.id, code)) ? isUsed : null;
      case 'sms':
        if (user.mfaMethod !== 'sms') throw new MfaMethodMismatch();
        return (await this.codes.verifySms(bindingOf(caller), user, code)) ? isUsed : null;
      case 'passkey': {
        const use = await this.passkeys.verify(caller, bindingOf(caller), user.id, credential);
        return use && ((tx) => this.passkeys.recordUse(tx, use));
      }
      case 'recovery':
        return (tx) => this.useRecoveryCode(tx, caller, user, code);
    }
  }

  private async useRecoveryCode(tx: TenantTransaction, caller: UserCaller, user: User, code: string): Promise<boolean> {
    if (!(await this.codes.useRecoveryCode(tx, user.id, code))) return false;
    await this.audit.record(tx, caller, 'auth.mfa.recovery_code.used', toResource(user));
    return true;
  }
}

/** The code was used up when it was verified. */
const isUsed = () => Promise.resolve(true);

const bindingOf = ({ userId, sessionId }: UserCaller) => ({ purpose: 'step-up', userId, sessionId }) as const;
const toResource = ({ id, name }: User) => ({ type: 'user', id, name });
