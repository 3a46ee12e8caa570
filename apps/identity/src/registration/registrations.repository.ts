import { Injectable } from '@nestjs/common';
import type { SqlExecutor, WorkerTransaction } from '@rmm/persistence';
import { MembersRepository } from '../members/members.repository.js';
import type { User } from '../users/user.types.js';
import { UsersRepository } from '../users/users.repository.js';
import type { PendingRegistration } from './pending-registration.entity.js';

export type RegistrationForm = Pick<
  PendingRegistration,
  'companyName' | 'email' | 'name' | 'passwordHash' | 'ipAddress' | 'userAgent'
>;

export type EmailLinkPurpose = 'email_change' | 'email_verification';

export interface NewEmailLink {
  userId: string;
  purpose: EmailLinkPurpose;
  tokenHash: Buffer;
  /** The e-mail epoch for which the link is valid. */
  epoch: number;
}

/**
 * Registrations between form and confirmation, and links that verify an e-mail address of a user. Under the worker
 * login, because who follows a link is not signed in.
 */
@Injectable()
export class RegistrationsRepository {
  constructor(
    private readonly users: UsersRepository,
    private readonly members: MembersRepository,
  ) {}

  /**
   * Stores a registration for one hour in place of an earlier one of the address, whose link becomes invalid: only the
   * newest form counts. Whether the address has a user plays no part.
   */
  async insertPending(tx: SqlExecutor, tokenHash: Buffer, form: RegistrationForm): Promise<void> {
    await tx.query(
      `INSERT INTO pending_registration
         (token_hash, company_name, email, name, password_hash, ip_address, user_agent, expires_at)
       VALUES (:tokenHash, :companyName, :email, :name, :passwordHash, :ipAddress, :userAgent,
         now() + interval '1 hour')
       ON CONFLICT (email) DO UPDATE
         SET token_hash = excluded.token_hash, company_name = excluded.company_name, name = excluded.name,
           password_hash = excluded.password_hash, ip_address = excluded.ip_address, user_agent = excluded.user_agent,
           expires_at = excluded.expires_at, created_at = now()`,
      { tokenHash, ...form },
    );
  }

  /** Deletes and returns a registration: for exactly one caller, and only before it expires. */
  async consume(tx: SqlExecutor, tokenHash: Buffer): Promise<RegistrationForm | null> {
    const [form] = await tx.query<RegistrationForm>(
      `DELETE FROM pending_registration WHERE token_hash = :tokenHash AND expires_at > now()
       RETURNING company_name AS "companyName", email, name, password_hash AS "passwordHash",
         ip_address AS "ipAddress", user_agent AS "userAgent"`,
      { tokenHash },
    );
    return form ?? null;
  }

  /** @returns the id of the new user; null when the address has one */
  insertUser(tx: WorkerTransaction, { email, name, passwordHash }: RegistrationForm): Promise<string | null> {
    return this.users.insertRegistered(tx, { email, name, passwordHash });
  }

  /** Makes the user a member of the partner with access to all its organizations. */
  async insertAdmin(
    tx: WorkerTransaction,
    { partnerId, userId, roleId }: { partnerId: string; userId: string; roleId: string },
  ): Promise<void> {
    await this.members.insert(tx, {
      scope: { kind: 'partner', partnerId },
      userId,
      roleId,
      invitedBy: null,
      orgAccess: 'all',
      orgIds: [],
      siteIds: null,
      deviceGroupIds: null,
    });
  }

  async deleteExpired(db: SqlExecutor): Promise<void> {
    await db.query('DELETE FROM pending_registration WHERE expires_at < now()');
  }

  /** Reads a user with its memberships. */
  findUser(worker: SqlExecutor, userId: string): Promise<User | null> {
    return this.users.findById(worker, userId);
  }

  /** Stores a link that verifies an address, valid for an hour, in place of the user's previous one. The caller has locked the account. */
  async replaceEmailLink(tx: SqlExecutor, link: NewEmailLink): Promise<void> {
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
   * Uses such a link up: for exactly one caller, while the user is active, and unless the address or, for a change of it, the
   * password has changed since. Locks the account first, as every other change of an account does.
   */
  async useEmailLink(
    tx: SqlExecutor,
    tokenHash: Buffer,
  ): Promise<{ userId: string; purpose: EmailLinkPurpose } | null> {
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
