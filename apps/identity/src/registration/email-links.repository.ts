import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { User } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';

export type EmailLinkPurpose = 'email_change' | 'email_verification';

export interface NewEmailLink {
  userId: string;
  purpose: EmailLinkPurpose;
  tokenHash: Buffer;
  /** The e-mail epoch for which the link is valid. */
  epoch: number;
}

/** Reads and writes links that verify an e-mail address of a user. Under the worker login, because who follows one is not signed in. */
@Injectable()
export class EmailLinksRepository {
  constructor(private readonly users: UsersRepository) {}

  /** Reads the user of a link with its memberships. */
  findUser(worker: SqlExecutor, userId: string): Promise<User | null> {
    return this.users.findById(worker, userId);
  }

  /** Stores a link, valid for an hour, in place of the user's previous one. The caller has locked the account. */
  async replace(tx: SqlExecutor, link: NewEmailLink): Promise<void> {
    await tx.query(
      `INSERT INTO link_token (user_id, purpose, token_hash, epoch, expires_at)
       VALUES (:userId, :purpose, :tokenHash, :epoch, now() + interval '1 hour')
       ON CONFLICT (user_id, purpose) DO UPDATE
         SET token_hash = excluded.token_hash, epoch = excluded.epoch, expires_at = excluded.expires_at,
           used_at = NULL, created_at = now()`,
      link,
    );
  }

  /**
   * Uses a link up: for exactly one caller, while the user is active, and unless the address or, for a change of it, the
   * password has changed since. Locks the account first, as every other change of an account does.
   */
  async use(tx: SqlExecutor, tokenHash: Buffer): Promise<{ userId: string; purpose: EmailLinkPurpose } | null> {
    await tx.query(
      `SELECT u.id FROM link_token t JOIN user_account u ON u.id = t.user_id
       WHERE t.token_hash = :tokenHash FOR UPDATE OF u`,
      { tokenHash },
    );
    const [used] = await tx.query<{ userId: string; purpose: EmailLinkPurpose }>(
      `UPDATE link_token t SET used_at = now() FROM user_account u
       WHERE t.token_hash = :tokenHash AND u.id = t.user_id AND t.purpose IN ('email_change', 'email_verification')
         AND t.used_at IS NULL AND t.expires_at > now() AND t.epoch = u.email_epoch AND u.status = 'active'
         AND (t.purpose <> 'email_change' OR u.password_changed_at IS NULL OR u.password_changed_at <= t.created_at)
       RETURNING u.id AS "userId", t.purpose`,
      { tokenHash },
    );
    return used ?? null;
  }

  /**
   * Stores a requested address of an active user and invalidates older links.
   * @returns null when the user is not active, or has ended its sessions since
   */
  async requestChange(
    tx: SqlExecutor,
    { userId, email, authEpoch }: { userId: string; email: string; authEpoch: number },
  ): Promise<{ epoch: number; requestedAt: Date } | null> {
    const [requested] = await tx.query<{ epoch: number; requestedAt: Date }>(
      `UPDATE user_account
       SET pending_email = :email, pending_email_requested_at = now(), email_epoch = email_epoch + 1, updated_at = now()
       WHERE id = :userId AND status = 'active' AND auth_epoch = :authEpoch
       RETURNING email_epoch AS epoch, pending_email_requested_at AS "requestedAt"`,
      { userId, email, authEpoch },
    );
    return requested ?? null;
  }

  /**
   * Sets a user's new address. Sessions, links, pending logins and step-up grants become invalid.
   * @throws a unique violation of `user_account_email_key` when the address has another user
   */
  async commitChange(tx: SqlExecutor, userId: string, email: string): Promise<void> {
    await tx.query(
      `UPDATE user_account
       SET email = :email, email_verified_at = now(), pending_email = NULL, pending_email_requested_at = NULL,
         auth_epoch = auth_epoch + 1, mfa_epoch = mfa_epoch + 1, reset_epoch = reset_epoch + 1,
         email_epoch = email_epoch + 1, updated_at = now()
       WHERE id = :userId`,
      { userId, email },
    );
  }

  async markVerified(tx: SqlExecutor, userId: string): Promise<void> {
    await tx.query(
      `UPDATE user_account SET email_verified_at = coalesce(email_verified_at, now()), updated_at = now()
       WHERE id = :userId`,
      { userId },
    );
  }

  /** Locks an account whose address is not verified yet; null when it is. */
  async lockUnverified(tx: SqlExecutor, userId: string): Promise<{ email: string; epoch: number } | null> {
    const [account] = await tx.query<{ email: string; epoch: number }>(
      `SELECT email, email_epoch AS epoch FROM user_account
       WHERE id = :userId AND email_verified_at IS NULL FOR UPDATE`,
      { userId },
    );
    return account ?? null;
  }
}
