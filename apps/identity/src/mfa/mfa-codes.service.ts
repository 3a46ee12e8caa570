import { Inject, Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { KeyRing } from '@rmm/secrets';
import { Clock } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { SmsPurpose } from '../sms/sms-codes.repository.js';
import { SmsCodesService } from '../sms/sms-codes.service.js';
import type { Transaction } from '../transaction.js';
import type { User } from '../users/user.types.js';
import { MfaStateRepository } from './mfa-state.repository.js';
import { MfaMethodMismatch } from './mfa.errors.js';
import { MfaRepository, totpSealContext } from './mfa.repository.js';
import { hashRecoveryCode, normalizeRecoveryCode } from './recovery-codes.js';
import { matchTotpStep } from './totp.js';

/** Verifies codes of authenticator apps, of SMS and for recovery; each is accepted once. One rate limit per user counts the attempts of all routes. */
@Injectable()
export class MfaCodesService {
  constructor(
    private readonly repository: MfaRepository,
    private readonly state: MfaStateRepository,
    private readonly keyRing: KeyRing,
    private readonly clock: Clock,
    private readonly limits: RateLimits,
    private readonly sms: SmsCodesService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Counts an attempt to give a code. @throws RateLimitedError */
  async countAttempt(userId: string): Promise<void> {
    await this.limits.hit(this.config.limits.mfaVerify, userId);
  }

  /** Forgets the attempts of a user, after a success. */
  async clearAttempts(userId: string): Promise<void> {
    await this.limits.reset(this.config.limits.mfaVerify, userId);
  }

  hasTotp(db: SqlExecutor, userId: string): Promise<boolean> {
    return this.repository.hasTotp(db, userId);
  }

  /** Verifies a code of the user's authenticator app. @throws UnavailableError when Redis is down */
  async verifyTotp(db: SqlExecutor, userId: string, code: string): Promise<boolean> {
    const sealed = await this.repository.findTotpSecret(db, userId);
    if (sealed === null) return false;
    return this.verifySecret(userId, this.keyRing.open(sealed, totpSealContext(userId)), code);
  }

  /** Verifies a code of a secret that is not stored yet. A correct code uses up its time step. */
  async verifySecret(userId: string, secret: string, code: string): Promise<boolean> {
    const step = matchTotpStep(secret, code, this.clock.nowMs());
    return step !== null && this.state.claimTotpStep(userId, step);
  }

  /** Verifies and uses up a code that was sent to the user's number, while SMS is the active factor. */
  async verifySms(purpose: SmsPurpose, user: User, code: string): Promise<boolean> {
    const number = activePhoneNumber(user);
    return number !== null && /^\d{6}$/.test(code) && this.sms.verify(purpose, number, code);
  }

  /**
   * Sends a code to the number of the active SMS factor.
   * @throws MfaMethodMismatch when SMS is not the active factor; SmsNotConfigured, RateLimitedError, UpstreamError
   */
  async sendSms(purpose: SmsPurpose, user: User): Promise<void> {
    const number = activePhoneNumber(user);
    this.sms.assertConfigured();
    if (number === null) throw new MfaMethodMismatch();
    await this.sms.sendLimited(purpose, number);
  }

  /** Verifies a recovery code without using it. */
  async verifyRecoveryCode(db: SqlExecutor, userId: string, input: string): Promise<boolean> {
    const code = normalizeRecoveryCode(input);
    return code !== null && this.repository.hasRecoveryCode(db, userId, this.hashRecoveryCode(userId, code));
  }

  /** Uses a recovery code, in the transaction of what it permits. @returns false when it is wrong or used */
  async useRecoveryCode(tx: Transaction, userId: string, input: string): Promise<boolean> {
    const code = normalizeRecoveryCode(input);
    return code !== null && this.repository.useRecoveryCode(tx, userId, this.hashRecoveryCode(userId, code));
  }

  /** Seals a TOTP secret for storage. */
  sealSecret(userId: string, secret: string): string {
    return this.keyRing.seal(secret, totpSealContext(userId));
  }

  hashRecoveryCode(userId: string, code: string): Buffer {
    return hashRecoveryCode(code, userId, this.config.mfa.recoveryCodePepper);
  }
}

/** Returns the number of the SMS factor; null when another factor or none is active. */
const activePhoneNumber = ({ mfaMethod, phoneNumber, phoneVerified }: User): string | null =>
  mfaMethod === 'sms' && phoneVerified ? phoneNumber : null;
