import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';

/** Password hashes of accounts. SQL, because epochs are incremented in the statement that stores the hash. */
@Injectable()
export class PasswordsRepository {
  /**
   * Stores a new password, completes the setup of the account, and invalidates its sessions and reset links.
   * @param expectedHash  the hash it replaces; any when null
   * @returns false when the account has another hash by now
   */
  async replace(tx: SqlExecutor, userId: string, passwordHash: string, expectedHash: string | null): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE user_account
       SET password_hash = :passwordHash, password_changed_at = now(), auth_epoch = auth_epoch + 1,
         reset_epoch = reset_epoch + 1, updated_at = now(),
         setup_completed_at = CASE WHEN requires_setup THEN now() ELSE setup_completed_at END, requires_setup = FALSE
       WHERE id = :userId AND (:expectedHash::text IS NULL OR password_hash = :expectedHash)
       RETURNING id`,
      { userId, passwordHash, expectedHash },
    );
    return rows.length === 1;
  }

  /** Stores the same password with other cost parameters, unless it was changed since. */
  async rehash(tx: SqlExecutor, userId: string, passwordHash: string, expectedHash: string): Promise<void> {
    await tx.query(
      'UPDATE user_account SET password_hash = :passwordHash WHERE id = :userId AND password_hash = :expectedHash',
      { userId, passwordHash, expectedHash },
    );
  }
}
