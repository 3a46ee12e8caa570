import { Injectable } from '@nestjs/common';
import {
  TenantDatabase,
  TenantRepository,
  type HasTenant,
  type SqlExecutor,
  type TenantTransaction,
  type WorkerDatabase,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { sortMemberships } from '../members/membership.types.js';
import type { SecuritySettings } from '../mfa/mfa.policy.js';
import { UserAccount } from './user-account.entity.js';
import type { User, UserMembership } from './user.types.js';

type UserRow = Omit<User, 'memberships'> & { memberships: MembershipRow[] };

interface MembershipRow {
  id: string | null;
  scope: UserMembership['scope'];
  partnerId: string | null;
  orgId: string | null;
  roleId: string | null;
  roleName: string | null;
  roleForcesMfa: boolean;
  partnerName: string | null;
  partnerStatus: string | null;
  partnerSettings: { security?: SecuritySettings; locale?: string } | null;
  orgName: string | null;
  orgStatus: string | null;
  orgSettings: { security?: SecuritySettings } | null;
  ssoEnforced: boolean;
  createdAt: string;
  lastEnteredAt: string | null;
}

/**
 * Every way a user may act, as JSON rows. System scope is a membership too: that of the seeded Platform Admin role.
 * A deleted organization reads as one without status, so it is never active.
 */
const MEMBERSHIPS = `
  SELECT pm.id, 'partner' AS scope, pm.partner_id, NULL::uuid AS org_id, pm.role_id, pm.created_at, pm.last_entered_at
    FROM partner_membership pm WHERE pm.user_id = u.id
  UNION ALL
  SELECT om.id, 'organization', om.partner_id, om.org_id, om.role_id, om.created_at, om.last_entered_at
    FROM organization_membership om WHERE om.user_id = u.id
  UNION ALL
  SELECT NULL, 'system', NULL, NULL, r.id, u.created_at, NULL
    FROM role r WHERE u.is_platform_admin AND r.system_key = 'platform_admin' AND r.partner_id IS NULL`;

const SUMMARY = ['id', 'email', 'name', 'status'] as const;

const SELECT = `
  SELECT u.id, u.email, u.name, u.password_hash AS "passwordHash", u.status, u.is_platform_admin AS "isPlatformAdmin",
    u.requires_setup AS "requiresSetup", u.setup_completed_at AS "setupCompletedAt", u.avatar_url AS "avatarUrl",
    u.preferences, u.mfa_enabled AS "mfaEnabled", u.mfa_method AS "mfaMethod", u.phone_number AS "phoneNumber",
    u.phone_verified AS "phoneVerified", u.first_factor_at AS "firstFactorAt",
    u.mfa_grace_granted_at AS "graceGrantedAt", u.mfa_enrollment_deadline AS "enrollmentDeadline",
    u.auth_epoch AS "authEpoch", u.mfa_epoch AS "mfaEpoch", u.reset_epoch AS "resetEpoch",
    u.email_epoch AS "emailEpoch", u.email_verified_at AS "emailVerifiedAt", u.pending_email AS "pendingEmail",
    u.pending_email_requested_at AS "pendingEmailRequestedAt", u.password_changed_at AS "passwordChangedAt",
    u.last_login_at AS "lastLoginAt", u.created_at AS "createdAt", now() AS now,
    coalesce((
      SELECT json_agg(json_build_object(
        'id', m.id, 'scope', m.scope, 'partnerId', m.partner_id, 'orgId', m.org_id, 'roleId', m.role_id,
        'roleName', r.name, 'roleForcesMfa', coalesce(r.force_mfa, FALSE), 'partnerName', p.name,
        'partnerStatus', p.status, 'partnerSettings',
        json_build_object('security', p.settings -> 'security', 'locale', p.settings -> 'locale'), 'orgName', d.name,
        'orgStatus', CASE WHEN d.deleted THEN NULL ELSE d.status END, 'orgSettings',
        json_build_object('security', o.settings -> 'security'),
        'ssoEnforced', m.org_id IS NOT NULL AND EXISTS (
          SELECT FROM sso_provider s WHERE s.org_id = m.org_id AND s.status = 'active' AND s.enforce_sso),
        'createdAt', m.created_at, 'lastEnteredAt', m.last_entered_at))
      FROM (${MEMBERSHIPS}) m
      LEFT JOIN role r ON r.id = m.role_id
      LEFT JOIN partner p ON p.id = m.partner_id
      LEFT JOIN organization_directory d ON d.org_id = m.org_id
      LEFT JOIN organization_security_policy o ON o.org_id = m.org_id
    ), '[]') AS memberships
  FROM user_account u`;

/** The part of an account that an invitation needs. */
export type AccountSummary = Pick<UserAccount, 'id' | 'email' | 'name' | 'status'>;

/** A picture; without bytes when the client has the current one. */
export interface StoredAvatar {
  mime: string;
  etag: string;
  bytes: Buffer | null;
}

export interface EditableProfile {
  name: string;
  preferences: Record<string, unknown>;
}

/** Advisory lock: platform administrators are created and disabled one after the other. */
const PLATFORM_ADMINS_LOCK = 727_005;

/** Users with their memberships, and their accounts with profile and avatar. */
@Injectable()
export class UsersRepository extends TenantRepository<UserAccount> {
  constructor(tenants: TenantDatabase) {
    super(tenants, UserAccount, () => new NotFoundError('User'));
  }

  /** Reads a user in one statement. Under the worker login, since it may be a member of any tenant. @param email lower case */
  async findByEmail(worker: SqlExecutor, email: string): Promise<User | null> {
    return toUser(await worker.query<UserRow>(`${SELECT} WHERE u.email = :email`, { email }));
  }

  /** Reads a user in one statement. Under the worker login, since it may be a member of any tenant. */
  async findById(worker: SqlExecutor, id: string): Promise<User | null> {
    return toUser(await worker.query<UserRow>(`${SELECT} WHERE u.id = :id`, { id }));
  }

  /** Finds the account of an e-mail address, whatever its tenants; under the worker login. @param email lower case */
  findAccountByEmail(worker: WorkerDatabase, email: string): Promise<AccountSummary | null> {
    return this.findOne<AccountSummary>(worker, { where: { email }, columns: SUMMARY });
  }

  /** Finds an account, whatever its tenants; under the worker login. */
  findAccountById(worker: WorkerDatabase, id: string): Promise<AccountSummary | null> {
    return this.findOne<AccountSummary>(worker, { where: { id }, columns: SUMMARY });
  }

  /** Locks an account until the transaction ends. @throws NotFoundError when the caller cannot see it */
  lock(tx: TenantTransaction, id: string): Promise<UserAccount> {
    return this.getOne(tx, { where: { id }, lock: 'FOR UPDATE' });
  }

  /**
   * Inserts an account without a password. It becomes visible to a tenant with its first membership there, so nothing is
   * returned. @throws a unique violation of `user_account_email_key` when the address has an account
   */
  async insertInvited(tx: SqlExecutor, { id, email, name }: Omit<AccountSummary, 'status'>): Promise<void> {
    await tx.query(`INSERT INTO user_account (id, email, name, status) VALUES (:id, :email, :name, 'invited')`, {
      id,
      email,
      name,
    });
  }

  change(
    tx: TenantTransaction,
    id: string,
    changes: Pick<UserAccount, 'name' | 'status' | 'disabledReason'>,
  ): Promise<UserAccount> {
    return this.updateOne(tx, { id }, changes);
  }

  async lockPlatformAdmins(tx: SqlExecutor): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock(:lock)', { lock: PLATFORM_ADMINS_LOCK });
  }

  async hasAnotherPlatformAdmin(tx: SqlExecutor, userId: string): Promise<boolean> {
    const others = await tx.query(
      `SELECT 1 AS one FROM user_account WHERE is_platform_admin AND status = 'active' AND id <> :userId LIMIT 1`,
      { userId },
    );
    return others.length > 0;
  }

  async hasPlatformAdmin(db: SqlExecutor): Promise<boolean> {
    const admins = await db.query('SELECT 1 AS one FROM user_account WHERE is_platform_admin LIMIT 1');
    return admins.length > 0;
  }

  /** @returns the id of the user; null when the address has an account */
  async insertPlatformAdmin(
    tx: SqlExecutor,
    { email, passwordHash }: { email: string; passwordHash: string },
  ): Promise<string | null> {
    const [user] = await tx.query<{ id: string }>(
      `INSERT INTO user_account (email, name, password_hash, status, is_platform_admin, requires_setup,
         password_changed_at)
       VALUES (:email, 'Platform Administrator', :passwordHash, 'active', TRUE, TRUE, now())
       ON CONFLICT (email) DO NOTHING RETURNING id`,
      { email, passwordHash },
    );
    return user?.id ?? null;
  }

  /**
   * Creates the user of a registration, or takes over an invited account without a password: the mailbox is proven.
   * Its invitations stay open.
   * @returns the id of the user, whose address is verified; null when the address has any other account
   */
  async insertRegistered(
    tx: SqlExecutor,
    { email, name, passwordHash }: { email: string; name: string; passwordHash: string },
  ): Promise<string | null> {
    const [user] = await tx.query<{ id: string }>(
      `INSERT INTO user_account (email, name, password_hash, status, email_verified_at, password_changed_at)
       VALUES (:email, :name, :passwordHash, 'active', now(), now())
       ON CONFLICT (email) DO UPDATE
         SET name = excluded.name, password_hash = excluded.password_hash, status = 'active', email_verified_at = now(),
           password_changed_at = now(), auth_epoch = user_account.auth_epoch + 1, updated_at = now()
         WHERE user_account.status = 'invited' AND user_account.password_hash IS NULL
           AND NOT user_account.mfa_enabled AND NOT user_account.is_platform_admin
       RETURNING id`,
      { email, name, passwordHash },
    );
    return user?.id ?? null;
  }

  /** Inserts the user of a first single sign-on, without a password. @returns false when the address has an account */
  async insertProvisioned(
    tx: SqlExecutor,
    { id, email, name, isVerified }: { id: string; email: string; name: string; isVerified: boolean },
  ): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO user_account (id, email, name, status, email_verified_at)
       VALUES (:id, :email, :name, 'active', CASE WHEN :isVerified THEN now() END)
       ON CONFLICT (email) DO NOTHING RETURNING id`,
      { id, email, name, isVerified },
    );
    return rows.length === 1;
  }

  /** Activates an invited account whose address a provider has proven. */
  async activateBySso(tx: SqlExecutor, userId: string, isVerified: boolean): Promise<void> {
    await tx.query(
      `UPDATE user_account SET status = 'active', updated_at = now(),
         email_verified_at = coalesce(email_verified_at, CASE WHEN :isVerified THEN now() END)
       WHERE id = :userId AND status = 'invited'`,
      { userId, isVerified },
    );
  }

  /**
   * Keeps the memberships of a user from being added to until the transaction ends, in whatever tenant and under
   * either login. What decides by all memberships of a user takes this lock, as does each invitation.
   */
  async lockMemberships(tx: SqlExecutor, userId: string): Promise<void> {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('memberships:' || :userId, 0))`, { userId });
  }

  /** Returns true for an account that SCIM created and whose name and address it keeps; under the worker login. */
  async isOwnedByScim(worker: SqlExecutor, userId: string): Promise<boolean> {
    const rows = await worker.query(
      `SELECT 1 AS one FROM scim_user s JOIN user_account u ON u.id = s.user_id
       WHERE s.user_id = :userId AND s.owns_account AND u.password_hash IS NULL LIMIT 1`,
      { userId },
    );
    return rows.length > 0;
  }

  /** Locks the profile of a user until the transaction ends. */
  async lockProfile(tx: SqlExecutor, userId: string): Promise<EditableProfile | null> {
    const [profile] = await tx.query<EditableProfile>(
      'SELECT name, preferences FROM user_account WHERE id = :userId FOR UPDATE',
      { userId },
    );
    return profile ?? null;
  }

  async updateProfile(tx: SqlExecutor, userId: string, { name, preferences }: EditableProfile): Promise<void> {
    await tx.query(
      'UPDATE user_account SET name = :name, preferences = :preferences, updated_at = now() WHERE id = :userId',
      { userId, name, preferences: JSON.stringify(preferences) },
    );
  }

  /** Locks the account, so that concurrent changes run one after the other. @returns the user's name */
  async setAvatarUrl(tx: SqlExecutor, userId: string, avatarUrl: string | null): Promise<string | null> {
    const [user] = await tx.query<{ name: string }>(
      'UPDATE user_account SET avatar_url = :avatarUrl, updated_at = now() WHERE id = :userId RETURNING name',
      { userId, avatarUrl },
    );
    return user?.name ?? null;
  }

  /** @returns when it was stored */
  async replaceAvatar(tx: SqlExecutor, userId: string, avatar: Required<StoredAvatar>): Promise<Date> {
    const [stored] = await tx.query<{ updatedAt: Date }>(
      `INSERT INTO avatar (user_id, mime, bytes, etag) VALUES (:userId, :mime, :bytes, :etag)
       ON CONFLICT (user_id) DO UPDATE
         SET mime = excluded.mime, bytes = excluded.bytes, etag = excluded.etag, updated_at = now()
       RETURNING updated_at AS "updatedAt"`,
      { userId, ...avatar },
    );
    if (!stored) throw new Error('INSERT INTO avatar returned no row');
    return stored.updatedAt;
  }

  async deleteAvatar(tx: SqlExecutor, userId: string): Promise<void> {
    await tx.query('DELETE FROM avatar WHERE user_id = :userId', { userId });
  }

  /** Reads an avatar; without its bytes when `known` contains its ETag or `*`. */
  async findAvatar(caller: HasTenant, userId: string, known: readonly string[]): Promise<StoredAvatar | null> {
    const [avatar] = await this.tenants.read<StoredAvatar>(
      caller,
      `SELECT mime, etag,
         CASE WHEN etag = ANY(:known::text[]) OR '*' = ANY(:known::text[]) THEN NULL ELSE bytes END AS bytes
       FROM avatar WHERE user_id = :userId`,
      { userId, known },
    );
    return avatar ?? null;
  }
}

function toUser([row]: UserRow[]): User | null {
  if (!row) return null;
  return { ...row, memberships: sortMemberships(row.memberships.map(toMembership)) };
}

function toMembership({
  partnerSettings,
  orgSettings,
  createdAt,
  lastEnteredAt,
  ...row
}: MembershipRow): UserMembership {
  return {
    ...row,
    createdAt: new Date(createdAt),
    lastEnteredAt: lastEnteredAt === null ? null : new Date(lastEnteredAt),
    partnerSecurity: partnerSettings?.security ?? null,
    partnerLocale: partnerSettings?.locale ?? null,
    organizationSecurity: orgSettings?.security ?? null,
  };
}
