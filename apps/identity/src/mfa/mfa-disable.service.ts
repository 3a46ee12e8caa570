import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { CurrentPassword, CurrentPasswordWrong } from '../passwords/current-password.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { OwnSession } from '../sessions/own-session.js';
import { SessionOpener, type IssuedSession } from '../sessions/session-opener.js';
import { mfaFactsOf } from './mfa-facts.js';
import type { UserMembership, User } from '../users/user.js';
import { CodeChecker } from './code-checker.js';
import { FactorSession } from './factor-session.js';
import { FactorsRepository } from './factors.repository.js';
import { demandsFactor } from './mfa-policy.js';
import { MfaCodeInvalid, MfaNotEnabled, MfaRequiredByPolicy } from './mfa.errors.js';

export interface DisableProofs {
  currentPassword: string | undefined;
  /** Of the authenticator app, or a recovery code. */
  code: string;
  /** Of the caller's own session, from the body or its cookie. */
  refreshToken: string | undefined;
}

type Refusal = 'policy' | 'wrong_password' | 'wrong_code';

/** Giving the second factor up. @see SPEC.md 5.6 */
@Injectable()
export class MfaDisableService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly session: OwnSession,
    private readonly currentPassword: CurrentPassword,
    private readonly codes: CodeChecker,
    private readonly factors: FactorsRepository,
    private readonly factorSession: FactorSession,
    private readonly opener: SessionOpener,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly mail: MailOutbox,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Clears secret, phone and recovery codes and ends every session, the caller's being issued anew, in one transaction.
   * @throws MfaNotEnabled, MfaRequiredByPolicy, ReplacementSessionRequired, CurrentPasswordWrong, MfaCodeInvalid,
   *   RateLimitedError; in this order
   */
  async disable(caller: UserCaller, proofs: DisableProofs): Promise<IssuedSession> {
    const { user, membership } = await this.session.userOf(caller);
    if (!user.mfaEnabled) throw new MfaNotEnabled();
    if (this.isDemanded(user)) return this.refuse(caller, user, 'policy', new MfaRequiredByPolicy());
    await this.factorSession.assertReplaceable(caller, proofs.refreshToken);
    await this.provePassword(caller, user, proofs.currentPassword);
    await this.limits.hit(this.config.limits.mfaVerify, user.id);
    const rightTotp = await this.codes.checkTotp(this.tenants.reader(caller), user.id, proofs.code);
    const session = await this.clear(caller, user, membership, rightTotp ? null : proofs.code);
    await this.limits.reset(this.config.limits.mfaVerify, user.id);
    return session;
  }

  /** The factor is the account's: one membership that demands it keeps it for all. */
  private isDemanded(user: User): boolean {
    return user.memberships.some((membership) => demandsFactor(mfaFactsOf(user, membership), this.config.mfa));
  }

  private async provePassword(caller: UserCaller, user: User, password: string | undefined): Promise<void> {
    try {
      await this.currentPassword.prove(caller, user, password);
    } catch (error) {
      if (error instanceof CurrentPasswordWrong) return this.refuse(caller, user, 'wrong_password', error);
      throw error;
    }
  }

  /** @param recoveryCode  to be used up by the change, where the app's code did not already prove it */
  private async clear(
    caller: UserCaller,
    user: User,
    membership: UserMembership,
    recoveryCode: string | null,
  ): Promise<IssuedSession> {
    const opened = await this.tenants.transaction(caller, async (tx) => {
      if (recoveryCode !== null && !(await this.codes.useRecoveryCode(tx, user.id, recoveryCode))) return null;
      const epochs = await this.factors.clear(tx, user.id, user.mfaEpoch);
      if (!epochs) throw new MfaNotEnabled();
      const self = { type: 'user', id: user.id, name: user.name };
      const proof = recoveryCode === null ? 'totp' : 'recovery';
      await this.audit.record(tx, caller, 'auth.mfa.disable', self, { method: user.mfaMethod, proof });
      await this.mail.add(tx, { to: user.email, template: 'mfa-disabled', values: { name: user.name } });
      return this.factorSession.reissue(tx, caller, { ...user, ...epochs }, membership);
    });
    return opened ? this.opener.issue(opened) : this.refuse(caller, user, 'wrong_code', new MfaCodeInvalid());
  }

  private async refuse(caller: UserCaller, { id, name }: User, reason: Refusal, error: Error): Promise<never> {
    const result = reason === 'policy' ? 'denied' : 'failure';
    await this.audit.recordDirect(caller, 'auth.mfa.disable.failed', { type: 'user', id, name }, { reason }, result);
    throw error;
  }
}
