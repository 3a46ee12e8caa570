import { Inject, Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { Clock } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { Transaction } from '../transaction.js';
import { MfaFactorsRepository, totpSealContext } from './mfa-factors.repository.js';
import { OneTimeStore } from './one-time-store.service.js';
import { hashRecoveryCode, normalizeRecoveryCode } from './recovery-codes.js';
import { matchTotpStep } from './totp.js';

/** A code is valid for three steps of 30 seconds; a used step is remembered for longer than that. */
const USED_STEP_TTL_SECONDS = 180;

/** Verifies TOTP and recovery codes; each is accepted once. */
@Injectable()
export class MfaCodeVerifier {
  constructor(
    private readonly factors: MfaFactorsRepository,
    private readonly store: OneTimeStore,
    private readonly keyRing: KeyRing,
    private readonly clock: Clock,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Verifies a code of the user's authenticator app. @throws UnavailableError when Redis is down */
  async verifyTotp(db: SqlExecutor, userId: string, code: string): Promise<boolean> {
    const sealed = await this.factors.findTotpSecret(db, userId);
    if (sealed === null) return false;
    return this.verifySecret(userId, this.keyRing.open(sealed, totpSealContext(userId)), code);
  }

  /** Verifies a code of a secret that is not stored yet. A correct code uses up its time step. */
  async verifySecret(userId: string, secret: string, code: string): Promise<boolean> {
    const step = matchTotpStep(secret, code, this.clock.nowMs());
    if (step === null) return false;
    return this.store.claim(`rmm:identity:totp-step:{${userId}}:${step}`, USED_STEP_TTL_SECONDS);
  }

  /** Verifies a recovery code without using it. */
  async verifyRecoveryCode(db: SqlExecutor, userId: string, input: string): Promise<boolean> {
    const code = normalizeRecoveryCode(input);
    return code !== null && this.factors.hasRecoveryCode(db, userId, this.hashRecoveryCode(userId, code));
  }

  /** Uses a recovery code, in the transaction of what it permits. @returns false when it is wrong or used */
  async useRecoveryCode(tx: Transaction, userId: string, input: string): Promise<boolean> {
    const code = normalizeRecoveryCode(input);
    return code !== null && this.factors.useRecoveryCode(tx, userId, this.hashRecoveryCode(userId, code));
  }

  /** Seals a TOTP secret for storage. */
  sealSecret(userId: string, secret: string): string {
    return this.keyRing.seal(secret, totpSealContext(userId));
  }

  hashRecoveryCode(userId: string, code: string): Buffer {
    return hashRecoveryCode(code, userId, this.config.mfa.recoveryCodePepper);
  }
}
