import { Inject, Injectable } from '@nestjs/common';
import type { PartnerSecurity } from '@rmm/contracts';
import { WorkerDatabase, type TenantTransaction } from '@rmm/persistence';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { allowedMfaMethods } from '../mfa/mfa-policy.js';
import type { UserMembership } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import { SecurityPoliciesRepository, type AffectedMembers } from './security-policies.repository.js';
import { MfaNoMethodAvailable, MfaPolicyWouldLockOutUsers } from './security-policy.errors.js';
import { tightensMfa } from './security-policy.js';

export interface PolicyVersions {
  before: PartnerSecurity;
  after: PartnerSecurity;
}

/** Keeps policies and factors compatible: no change of one leaves users without a factor that they can use. */
@Injectable()
export class LockOutPolicy {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: SecurityPoliciesRepository,
    private readonly users: UsersRepository,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws MfaNoMethodAvailable, MfaPolicyWouldLockOutUsers; neither when the change is no stricter than before */
  async assertNoLockOut(
    tx: TenantTransaction,
    { before, after }: PolicyVersions,
    affected: AffectedMembers,
  ): Promise<void> {
    if (!tightensMfa(before, after)) return;
    await this.assertMethodAvailable(tx, affected);
    const lockedOut = await this.repository.countLockedOut(tx, affected);
    if (lockedOut.count > 0) throw new MfaPolicyWouldLockOutUsers(lockedOut);
  }

  /**
   * Runs a change of a user's own factors while the policies that apply to the user stay as they are. Call it outside
   * of any transaction; `change` runs its own.
   * @param change receives the user's memberships
   */
  async withStablePolicies<T>(userId: string, change: (memberships: UserMembership[]) => Promise<T>): Promise<T> {
    return this.worker.transaction(async (tx) => {
      await this.repository.lockPoliciesOf(tx, userId);
      const user = await this.users.findById(tx, userId);
      return change(user?.memberships ?? []);
    });
  }

  /** Counts only methods that can be enrolled here; users who need a factor could not get in otherwise. */
  private async assertMethodAvailable(tx: TenantTransaction, affected: AffectedMembers): Promise<void> {
    const { partnerId, partnerPolicy, organization } = affected;
    const allowed = allowedMfaMethods(partnerPolicy, organization?.policy ?? null);
    const methods = this.config.mfa.offeredMethods.filter((method) => allowed.includes(method));
    if (methods.length === 0) throw new MfaNoMethodAvailable();
    if (organization || methods.includes('passkey')) return; // no policy excludes passkeys
    if (await this.repository.excludesAll(tx, partnerId, methods)) throw new MfaNoMethodAvailable();
  }
}
