import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import type { TenantTransaction } from '@rmm/persistence';
import { NotFoundError, UnauthenticatedError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MfaFactorsService } from '../mfa/mfa-factors.service.js';
import { MfaRequiredByPolicy } from '../mfa/mfa.errors.js';
import { allowedMfaMethods, requiresFactor, toMfaPolicyInput } from '../mfa/mfa.policy.js';
import { MfaRepository, type Epochs } from '../mfa/mfa.repository.js';
import { AccountProofsService, type AccountProofs } from '../passwords/account-proofs.service.js';
import { SessionsService, type IssuedSession } from '../sessions/sessions.service.js';
import type { MfaMethod, User, UserMembership } from '../users/user.types.js';
import { PasskeysRepository } from './passkeys.repository.js';

/**
 * Deletes passkeys. The last factor of an account goes with its recovery codes, and stays where the entered membership
 * requires a factor.
 * @see docs/reference/mfa-and-policies.md
 */
@Injectable()
export class PasskeyRemovalService {
  constructor(
    private readonly repository: PasskeysRepository,
    private readonly accounts: MfaRepository,
    private readonly factors: MfaFactorsService,
    private readonly sessions: SessionsService,
    private readonly proofs: AccountProofsService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Deletes a passkey and ends every session; the caller's is issued again. Of concurrent deletions one succeeds.
   * @throws NotFoundError, CurrentPasswordWrong, ReauthenticationRequired, RateLimitedError, MfaRequiredByPolicy;
   *   UnauthenticatedError when the factors were changed since
   */
  async remove(caller: UserCaller, id: string, proofs: AccountProofs): Promise<IssuedSession> {
    const owner = await this.sessions.getUser(caller);
    const { user } = owner;
    const { name: passkeyName } = await this.repository.getOf(caller, user.id, id);
    await this.proofs.use(caller, user, proofs);
    return this.factors.change(caller, owner, {
      audit: { action: 'auth.mfa.passkey.delete', details: { passkeyName } },
      mail: { to: user.email, template: 'passkey-removed', values: { name: user.name, passkeyName } },
      store: async (tx, membership) => {
        const { epochs, hasFactor } = await this.delete(tx, user, membership, id);
        return { epochs, proofs: { mfa: hasFactor, keepsFactor: hasFactor, factorProven: false } };
      },
    });
  }

  private async delete(
    tx: TenantTransaction,
    user: User,
    membership: UserMembership,
    id: string,
  ): Promise<{ epochs: Epochs; hasFactor: boolean }> {
    // Locks the account first, as every change of factors does.
    const epochs = await this.accounts.incrementEpoch(tx, user.id, user.mfaEpoch);
    if (!epochs) throw new UnauthenticatedError();
    if (!(await this.repository.remove(tx, user.id, id))) throw new NotFoundError('Passkey');
    const remaining = await this.listFactors(tx, user);
    this.assertUsableFactor(user, membership, remaining);
    if (remaining.length === 0) {
      const cleared = await this.accounts.clear(tx, user.id, epochs.mfaEpoch);
      if (!cleared) throw new UnauthenticatedError();
      return { epochs: cleared, hasFactor: false };
    }
    if (!remaining.includes('passkey')) await this.accounts.setTotpPrimary(tx, user.id);
    return { epochs, hasFactor: true };
  }

  private async listFactors(tx: TenantTransaction, { id, mfaMethod }: User): Promise<MfaMethod[]> {
    const isEnrolled = {
      passkey: await this.repository.hasAny(tx, id),
      totp: await this.accounts.hasTotp(tx, id),
      sms: mfaMethod === 'sms',
    };
    return (['passkey', 'totp', 'sms'] as const).filter((method) => isEnrolled[method]);
  }

  /** Asks the entered membership alone: another one meets the user with its enrollment gate when it is entered. */
  private assertUsableFactor(user: User, membership: UserMembership, remaining: readonly MfaMethod[]): void {
    const allowed = allowedMfaMethods(membership.partnerSecurity, membership.organizationSecurity);
    if (remaining.some((method) => allowed.includes(method))) return;
    if (requiresFactor(toMfaPolicyInput(user, membership), this.config.mfa)) throw new MfaRequiredByPolicy();
  }
}
