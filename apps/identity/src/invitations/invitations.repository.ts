import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { isUniqueViolation, WorkerDatabase, type SqlExecutor, type TenantTransaction } from '@rmm/persistence';
import { tenantOf, type MemberScope } from '../members/member-scope.service.js';
import { MembersRepository, type NewMembership } from '../members/members.repository.js';
import type { Transaction } from '../transaction.js';
import type { User, UserStatus } from '../users/user.js';
import { UsersRepository, type AccountSummary } from '../users/users.repository.js';

export interface InvitedMember extends Omit<NewMembership, 'userId'> {
  email: string;
  name: string;
}

/** The membership a link invites to: the one it was sent for, else the user's oldest one. */
export interface InvitationOffer {
  userId: string;
  email: string;
  name: string;
  status: UserStatus;
  partnerId: string;
  orgId: string | null;
  partnerName: string | null;
  orgName: string | null;
  used: boolean;
  expired: boolean;
}

const OFFER = `
  SELECT u.id AS "userId", u.email, u.name, u.status, m.partner_id AS "partnerId", m.org_id AS "orgId",
    p.name AS "partnerName", d.name AS "orgName", t.used_at IS NOT NULL AS used, t.expires_at <= now() AS expired
  FROM link_token t
  JOIN user_account u ON u.id = t.user_id
  CROSS JOIN LATERAL (
    SELECT any_membership.* FROM (
      SELECT partner_id, NULL::uuid AS org_id, created_at FROM partner_membership WHERE user_id = u.id
      UNION ALL
      SELECT partner_id, org_id, created_at FROM organization_membership WHERE user_id = u.id
    ) any_membership
    ORDER BY any_membership.partner_id = t.partner_id AND any_membership.org_id IS NOT DISTINCT FROM t.org_id DESC,
      any_membership.created_at
    LIMIT 1
  ) m
  LEFT JOIN partner p ON p.id = m.partner_id
  LEFT JOIN organization_directory d ON d.org_id = m.org_id
  WHERE t.token_hash = :tokenHash AND t.purpose = 'invite'`;

/** Invited members and the tokens of their links. */
@Injectable()
export class InvitationsRepository {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly members: MembersRepository,
  ) {}

  /**
   * Finds the account of an e-mail address and runs `work`, once more when another invitation creates the account
   * meanwhile. The lookup runs under the worker login, because the address may belong to a user of other tenants only.
   */
  async withAccount<T>(email: string, work: (account: AccountSummary | null) => Promise<T>): Promise<T> {
    try {
      return await work(await this.users.findAccountByEmail(this.worker, email));
    } catch (error) {
      if (!isUniqueViolation(error, 'user_account_email_key')) throw error;
      return work(await this.users.findAccountByEmail(this.worker, email));
    }
  }

  /**
   * Adds a member, with a new account when the address has none.
   * @returns the account, locked until the transaction ends; null when the user is a member of the scope already
   */
  async addMember(
    tx: Transaction,
    account: AccountSummary | null,
    { email, name, ...membership }: InvitedMember,
  ): Promise<AccountSummary | null> {
    const userId = account?.id ?? randomUUID();
    await this.users.lockMemberships(tx, userId);
    if (!account) await this.users.insertInvited(tx, { id: userId, email, name });
    const isNew = await this.members.insert(tx, { ...membership, userId });
    return isNew ? this.users.lockSummary(tx, userId) : null;
  }

  /** Locks a member until the transaction ends. @throws NotFoundError */
  async lockMember(tx: TenantTransaction, scope: MemberScope, userId: string): Promise<AccountSummary> {
    const { email, name, status } = await this.members.lock(tx, scope, userId);
    return { id: userId, email, name, status };
  }

  /** Stores the token of a new link, valid for seven days, which replaces the user's previous one. */
  async replaceToken(tx: SqlExecutor, userId: string, tokenHash: Buffer, scope: MemberScope): Promise<void> {
    await tx.query(
      `INSERT INTO link_token (user_id, purpose, token_hash, partner_id, org_id, expires_at)
       VALUES (:userId, 'invite', :tokenHash, :partnerId, :orgId, now() + interval '7 days')
       ON CONFLICT (user_id, purpose) DO UPDATE
         SET token_hash = excluded.token_hash, partner_id = excluded.partner_id, org_id = excluded.org_id,
           expires_at = excluded.expires_at, used_at = NULL, created_at = now()`,
      { userId, tokenHash, ...tenantOf(scope) },
    );
  }

  /** Finds an invited user; under the worker login. */
  findUser(worker: SqlExecutor, userId: string): Promise<User | null> {
    return this.users.findById(worker, userId);
  }

  /** Finds what a link invites to; null without such a link, or when the user is no member of any tenant now. */
  async findOffer(tokenHash: Buffer): Promise<InvitationOffer | null> {
    const [offer] = await this.worker.query<InvitationOffer>(OFFER, { tokenHash });
    return offer ?? null;
  }

  /**
   * Uses a token up and activates its account: for exactly one caller. Under the worker login, because no user is signed
   * in yet. @returns the id of the user; null when the token is not valid
   */
  async accept(
    tx: SqlExecutor,
    tokenHash: Buffer,
    { passwordHash, name }: { passwordHash: string; name: string | null },
  ): Promise<string | null> {
    const [row] = await tx.query<{ id: string }>(
      `WITH used AS (
         UPDATE link_token SET used_at = now()
         WHERE token_hash = :tokenHash AND purpose = 'invite' AND used_at IS NULL AND expires_at > now()
         RETURNING user_id
       )
       UPDATE user_account u
       SET status = 'active', password_hash = :passwordHash, name = coalesce(:name, u.name), password_changed_at = now(),
         auth_epoch = auth_epoch + 1, email_verified_at = coalesce(email_verified_at, now()), updated_at = now()
       FROM used WHERE u.id = used.user_id AND u.status = 'invited'
       RETURNING u.id`,
      { tokenHash, passwordHash, name },
    );
    return row?.id ?? null;
  }
}
