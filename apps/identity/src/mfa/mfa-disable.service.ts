import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { CurrentPassword } from '../passwords/current-password.service.js';
import { CurrentPasswordWrong } from '../passwords/password.errors.js';
import { CurrentSession } from '../sessions/current-session.service.js';
import type { IssuedSession } from '../sessions/sessions.service.js';
import type { User } from '../users/user.js';
import { MfaCodeVerifier } from './mfa-code-verifier.service.js';
import { MfaFactorChanges } from './mfa-factor-changes.service.js';
import { requiresFactor, toMfaPolicyInput } from './mfa-policy.js';
import { MfaCodeInvalid, MfaNotEnabled, MfaRequiredByPolicy, ReplacementSessionRequired } from './mfa.errors.js';

export interface DisableProofs {
  currentPassword: string | undefined;
  /** A code of the authenticator app, or a recovery code. */
  code: string;
  /** The token of the current session, from the body or its cookie. */
  refreshToken: string | undefined;
}

type Refusal = 'policy' | 'wrong_password' | 'wrong_code';

/** Disables the second factor of a user. @see docs/reference/mfa-and-policies.md */
@Injectable()
export class MfaDisableService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly session: CurrentSession,
    private readonly currentPassword: CurrentPassword,
    private readonly codes: MfaCodeVerifier,
    private readonly changes: MfaFactorChanges,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Deletes secret, phone and recovery codes and ends every session; the caller's is issued again.
   * @throws MfaNotEnabled, MfaRequiredByPolicy, ReplacementSessionRequired, CurrentPasswordWrong, RateLimitedError,
   *   MfaCodeInvalid; in this order
   */
  async disable(caller: UserCaller, proofs: DisableProofs): Promise<IssuedSession> {
    const owner = await this.session.getUser(caller);
    const { user } = owner;
    if (!user.mfaEnabled) throw new MfaNotEnabled();
    if (this.isRequired(user)) return this.refuse(caller, user, 'policy', new MfaRequiredByPolicy());
    if (!(await this.session.ownsRefreshToken(caller, proofs.refreshToken))) throw new ReplacementSessionRequired();
    await this.verifyPassword(caller, user, proofs.currentPassword);
    await this.limits.hit(this.config.limits.mfaVerify, user.id);
    const isTotp = await this.codes.verifyTotp(this.tenants.reader(caller), user.id, proofs.code);
    const session = await this.changes.disable(caller, owner, isTotp ? null : proofs.code);
    if (!session) return this.refuse(caller, user, 'wrong_code', new MfaCodeInvalid());
    await this.limits.reset(this.config.limits.mfaVerify, user.id);
    return session;
  }

  /** Returns true when any membership requires the factor: all memberships share it. */
  private isRequired(user: User): boolean {
    return user.memberships.some((membership) => requiresFactor(toMfaPolicyInput(user, membership), this.config.mfa));
  }

  private async verifyPassword(caller: UserCaller, user: User, password: string | undefined): Promise<void> {
    try {
      await this.currentPassword.verify(caller, user, password);
    } catch (error) {
      if (error instanceof CurrentPasswordWrong) return this.refuse(caller, user, 'wrong_password', error);
      throw error;
    }
  }

  private async refuse(caller: UserCaller, { id, name }: User, reason: Refusal, error: Error): Promise<never> {
    const result = reason === 'policy' ? 'denied' : 'failure';
    await this.audit.recordDirect(caller, 'auth.mfa.disable.failed', { type: 'user', id, name }, { reason }, result);
    throw error;
  }
}
