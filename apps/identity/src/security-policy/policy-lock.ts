import { Injectable } from '@nestjs/common';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import { UsersRepository } from '../users/users.repository.js';
import type { UserMembership } from '../users/user.js';

const KEY = (parameter: string) => `hashtextextended('rmm.identity.policy.' || ${parameter}, 0)`;

/**
 * Policies of one partner and its organizations change one after the other, and never while a member's factors do: what
 * the lock-out check counted still holds when the policy is stored.
 */
@Injectable()
export class PolicyLock {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
  ) {}

  /** For whoever changes a policy, first thing in its transaction and to the end of it. */
  async writing(tx: SqlExecutor, partnerId: string): Promise<void> {
    await tx.query(`select pg_advisory_xact_lock(${KEY('$1')})`, [partnerId]);
  }

  /**
   * For whoever changes its own factors: the policies stay as `change` is told of them until it has ended. To be called
   * outside of any transaction; `change` runs its own.
   * @param change  gets the user's memberships as they are now
   */
  async standing<T>(userId: string, change: (memberships: UserMembership[]) => Promise<T>): Promise<T> {
    return this.worker.transaction(async (tx) => {
      await tx.query(
        `select pg_advisory_xact_lock_shared(${KEY('partner_id')}) from (
           select partner_id from partner_membership where user_id = $1
           union select partner_id from organization_membership where user_id = $1 order by 1
         ) partners`,
        [userId],
      );
      const user = await this.users.findById(tx, userId);
      return change(user?.memberships ?? []);
    });
  }
}
