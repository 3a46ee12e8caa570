import { Inject, Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { Clock } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { FactorsRepository, totpSealContext } from './factors.repository.js';
import { hashRecoveryCode, normalizeRecoveryCode } from './recovery-codes.js';
import { RedisOnce } from './redis-once.js';
import { matchTotpStep } from './totp.js';

/** A step can be presented for three steps of 30 seconds; afterwards no clock accepts it. */
const STEP_MEMORY_SECONDS = 180;

/** Decides whether a code is right, each one once. */
@Injectable()
export class CodeChecker {
  constructor(
    private readonly factors: FactorsRepository,
    private readonly redis: RedisOnce,
    private readonly keyRing: KeyRing,
    private readonly clock: Clock,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Against a stored factor. @throws UnavailableError when Redis is away */
  async checkTotp(db: SqlExecutor, userId: string, code: string): Promise<boolean> {
    const sealed = await this.factors.findTotp(db, userId);
    if (sealed === null) return false;
    return this.checkSecret(userId, this.keyRing.open(sealed, totpSealContext(userId)), code);
  }

  /** Against a secret that is not stored yet. The (user, step) pair is spent by a right code. */
  async checkSecret(userId: string, secret: string, code: string): Promise<boolean> {
    const step = matchTotpStep(secret, code, this.clock.nowMs());
    if (step === null) return false;
    return this.redis.claim(`rmm:identity:totp-step:{${userId}}:${step}`, STEP_MEMORY_SECONDS);
  }

  /** Uses a recovery code up, in the transaction of what it opens. */
  async useRecoveryCode(tx: SqlExecutor, userId: string, input: string): Promise<boolean> {
    const code = normalizeRecoveryCode(input);
    return code !== null && this.factors.useRecoveryCode(tx, userId, this.hashRecoveryCode(userId, code));
  }

  hashRecoveryCode(userId: string, code: string): Buffer {
    return hashRecoveryCode(code, userId, this.config.mfa.recoveryCodePepper);
  }
}
