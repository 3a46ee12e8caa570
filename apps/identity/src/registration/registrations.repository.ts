import { Injectable } from '@nestjs/common';
import type { SqlExecutor, WorkerTransaction } from '@rmm/persistence';
import { MembersRepository } from '../members/members.repository.js';
import { UsersRepository } from '../users/users.repository.js';
import type { PendingRegistration } from './pending-registration.entity.js';

export type RegistrationForm = Pick<
  PendingRegistration,
  'companyName' | 'email' | 'name' | 'passwordHash' | 'ipAddress' | 'userAgent'
>;

/** Registrations between form and confirmation. Under the worker login, because no user is signed in yet. */
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
}
