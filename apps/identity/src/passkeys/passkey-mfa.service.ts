import { Inject, Injectable } from '@nestjs/common';
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MfaCodesService } from '../mfa/mfa-codes.service.js';
import { MfaVerificationService } from '../mfa/mfa-verification.service.js';
import { MfaCodeInvalid } from '../mfa/mfa.errors.js';
import type { FinishedLogin } from '../sessions/login-sessions.service.js';
import { PasskeyAssertionsService } from './passkey-assertions.service.js';
import type { PasskeyUse } from './passkeys.repository.js';

/** A passkey as the second step of a login. @see docs/reference/mfa-and-policies.md */
@Injectable()
export class PasskeyMfaService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly logins: MfaVerificationService,
    private readonly codes: MfaCodesService,
    private readonly assertions: PasskeyAssertionsService,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Creates a challenge for this login. @throws MfaSessionInvalid 401, PasskeyNotAvailable 400, RateLimitedError */
  async start(tempToken: string): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const { user } = await this.logins.resume(tempToken, (userId) =>
      this.limits.hit(this.config.limits.passkeyOptions, userId),
    );
    return this.assertions.start(this.worker, { purpose: 'second-factor', tempToken }, user.id);
  }

  /** Exchanges a temporary token and an assertion for a session. @throws MfaSessionInvalid 401, MfaCodeInvalid 400, RateLimitedError */
  async finish(tempToken: string, credential: Record<string, unknown>): Promise<FinishedLogin> {
    const login = await this.logins.resume(tempToken, (userId) => this.codes.countAttempt(userId));
    const ceremony = { purpose: 'second-factor', tempToken } as const;
    const use = await this.assertions.verify(this.worker, ceremony, login.user.id, credential);
    if (!use) return this.logins.refuse(login, 'passkey');
    try {
      return await this.logins.complete(login, { factor: 'passkey', use: (tx) => this.recordUse(tx, use) });
    } catch (error) {
      if (error instanceof MfaCodeInvalid) return this.logins.refuse(login, 'passkey');
      throw error;
    }
  }

  /** @throws MfaCodeInvalid when the counter did not rise, which is that of a copied authenticator, or the passkey is gone */
  private async recordUse(tx: WorkerTransaction, use: PasskeyUse): Promise<void> {
    if (!(await this.assertions.recordUse(tx, use))) throw new MfaCodeInvalid();
  }
}
