import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { User } from '../users/user.types.js';
import { UsersRepository } from '../users/users.repository.js';

/** A link is valid once, for an hour, while it is the newest of an active account with a password. */
const VALID_LINK = `t.purpose = 'password_reset' AND t.used_at IS NULL AND t.expires_at > now()
  AND t.epoch = u.reset_epoch AND u.status = 'active' AND u.password_hash IS NOT NULL`;

/**
 * Password hashes of accounts, and links that set a new password. SQL, because epochs are incremented in the statement
 * that stores a hash, and validity of a link depends on the epoch of its account. Links are under the worker login.
 */
@Injectable()
export class PasswordsRepository {
  constructor(private readonly users: UsersRepository) {}

  /** Reads a user with its memberships; under the worker login. */
  findUser(worker: SqlExecutor, userId: string): Promise<User | null> {
    return this.users.findById(worker, userId);
  }

  /** Reads a user with its memberships; under the worker login. @param email lower case */
  findUserByEmail(worker: SqlExecutor, email: string): Promise<User | null> {
    return this.users.findByEmail(worker, email);
  }

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

  /**
   * Stores a link and invalidates older ones by the reset epoch.
   * @param email  the address it is mailed to; no link is stored when the account has another one by now
   * @returns false when there is no such account
   */
  async replaceLink(tx: SqlExecutor, userId: string, email: string, tokenHash: Buffer): Promise<boolean> {
    const rows = await tx.query(
      `WITH account AS (
         UPDATE user_account SET reset_epoch = reset_epoch + 1
         WHERE id = :userId AND email = :email AND status = 'active' AND password_hash IS NOT NULL
         RETURNING id, reset_epoch
       )
       INSERT INTO link_token (user_id, purpose, token_hash, epoch, expires_at)
       SELECT id, 'password_reset', :tokenHash, reset_epoch, now() + INTERVAL '1 hour' FROM account
       ON CONFLICT (user_id, purpose) DO UPDATE
         SET token_hash = excluded.token_hash, epoch = excluded.epoch, expires_at = excluded.expires_at,
           used_at = NULL, created_at = now()
       RETURNING user_id`,
      { userId, email, tokenHash },
    );
    return rows.length === 1;
  }

  /** Returns the user of a valid link, without using it. */
  async findLinkUserId(db: SqlExecutor, tokenHash: Buffer): Promise<string | null> {
    const [row] = await db.query<{ userId: string }>(
      `SELECT u.id AS "userId" FROM link_token t JOIN user_account u ON u.id = t.user_id
       WHERE t.token_hash = :tokenHash AND ${VALID_LINK}`,
      { tokenHash },
    );
    return row?.userId ?? null;
  }

  /** Uses a link, for exactly one caller. Locks the account before the link, in the order of all other statements. */
  async useLink(tx: SqlExecutor, tokenHash: Buffer): Promise<string | null> {
    await tx.query(
      `SELECT u.id FROM link_token t JOIN user_account u ON u.id = t.user_id
       WHERE t.token_hash = :tokenHash FOR UPDATE OF u`,
      { tokenHash },
    );
    const [used] = await tx.query<{ userId: string }>(
      `UPDATE link_token t SET used_at = now() FROM user_account u
       WHERE t.token_hash = :tokenHash AND u.id = t.user_id AND ${VALID_LINK}
       RETURNING u.id AS "userId"`,
      { tokenHash },
    );
    return used?.userId ?? null;
  }
}
