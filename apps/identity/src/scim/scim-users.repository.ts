import { Injectable } from '@nestjs/common';
import type { ScimCaller } from '@rmm/access';
import {
  TenantDatabase,
  TenantRepository,
  type Source,
  type SqlExecutor,
  type Values,
  type WorkerTransaction,
} from '@rmm/persistence';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import type { FilterCondition } from './scim-filter.js';
import type { ScimPage } from './scim-query.js';
import { ScimUser } from './scim-user.entity.js';
import { ScimUserNotFound } from './scim.errors.js';

export type UserFilter = 'id' | 'userName' | 'externalId' | 'email' | 'emailType' | 'displayName';

/** A group of a user, as the user's resource lists it. */
export interface GroupOfUser {
  scimUserId: string;
  id: string;
  displayName: string;
}

/** The membership that a user of SCIM has, locked until the transaction ends. */
export interface ManagedMembership {
  roleId: string;
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
}

const FILTERS: Readonly<Record<UserFilter, string>> = {
  id: 'u.id::text = lower(:id)',
  userName: 'lower(u.user_name) = lower(:userName)',
  externalId: 'u.external_id = :externalId',
  email: 'u.email = lower(:email)',
  emailType: 'u.email_type = lower(:emailType)',
  displayName: 'lower(u.display_name) = lower(:displayName)',
};

const COLUMNS = `u.id, u.partner_id AS "partnerId", u.org_id AS "orgId", u.provider_id AS "providerId",
  u.user_id AS "userId", u.user_name AS "userName", u.external_id AS "externalId", u.email, u.email_type AS "emailType",
  u.display_name AS "displayName", u.given_name AS "givenName", u.family_name AS "familyName", u.active,
  u.owns_account AS "ownsAccount", u.kept_role_id AS "keptRoleId", u.site_ids AS "siteIds",
  u.device_group_ids AS "deviceGroupIds", u.settings_version AS "settingsVersion", u.created_at AS "createdAt",
  u.updated_at AS "updatedAt"`;

const OF_PROVIDER = 'u.partner_id = :partnerId AND u.org_id = :orgId AND u.provider_id = :providerId';

/**
 * Users of SCIM. Reads run as the client's organization, writes under the worker login, because accounts are of no
 * tenant; each names organization and provider.
 */
@Injectable()
export class ScimUsersRepository extends TenantRepository<ScimUser> {
  constructor(tenants: TenantDatabase) {
    super(tenants, ScimUser, () => new ScimUserNotFound());
  }

  /** Lists users of a provider, oldest first, with the exact number of all that match: SCIM pages by the index of a row, not by page. */
  async list(
    caller: ScimCaller,
    conditions: readonly FilterCondition<UserFilter>[],
    { offset, limit }: ScimPage,
  ): Promise<{ rows: ScimUser[]; total: number }> {
    const where = [OF_PROVIDER, ...new Set(conditions.map(({ attribute }) => FILTERS[attribute]))].join(' AND ');
    const params = { ...ownerOf(caller), ...valuesOf(conditions) };
    const [rows = [], [counted] = []] = await this.tenants.readAll(caller, [
      {
        sql: `SELECT ${COLUMNS} FROM scim_user u WHERE ${where} ORDER BY u.created_at, u.id LIMIT :limit OFFSET :offset`,
        params: { ...params, limit, offset },
      },
      { sql: `SELECT count(*)::integer AS total FROM scim_user u WHERE ${where}`, params },
    ]);
    return { rows: rows as unknown as ScimUser[], total: Number(counted?.['total'] ?? 0) };
  }

  /** @throws ScimUserNotFound also for a user of another provider */
  get(source: Source, caller: ScimCaller, id: string): Promise<ScimUser> {
    return this.getOne(source, { where: { id, ...ownerOf(caller) } });
  }

  /** Locks a user until the transaction ends. @throws ScimUserNotFound */
  lock(tx: WorkerTransaction, caller: ScimCaller, id: string): Promise<ScimUser> {
    return this.getOne(tx, { where: { id, ...ownerOf(caller) }, lock: 'FOR UPDATE' });
  }

  /** Locks users in the order of their ids, so that concurrent changes of groups do not wait for each other in a circle. */
  lockAll(tx: WorkerTransaction, caller: ScimCaller, ids: readonly string[]): Promise<ScimUser[]> {
    return this.findMany(tx, {
      where: { ...ownerOf(caller) },
      conditions: [{ sql: 'scimUser.id = ANY (:ids::uuid[])', params: { ids } }],
      sort: { id: 'ASC' },
      lock: 'FOR UPDATE',
    });
  }

  /** Lists providers with users for whom older settings of roles apply. It reads one user of each provider at most. */
  async listOutdatedProviders(db: SqlExecutor): Promise<string[]> {
    const rows = await db.query<{ id: string }>(
      `SELECT p.id FROM sso_provider p CROSS JOIN LATERAL (
         SELECT FROM scim_user u WHERE u.provider_id = p.id AND u.settings_version < p.config_version LIMIT 1
       ) outdated`,
    );
    return rows.map(({ id }) => id);
  }

  /** Locks users of a provider for whom older settings of roles apply; oldest settings first. */
  lockOutdated(tx: WorkerTransaction, provider: SsoProvider, limit: number): Promise<ScimUser[]> {
    return this.findMany(tx, {
      where: { providerId: provider.id },
      conditions: [
        { sql: 'scimUser.settingsVersion < :version::integer', params: { version: provider.configVersion } },
      ],
      sort: { settingsVersion: 'ASC' },
      limit,
      lock: 'FOR UPDATE SKIP LOCKED',
    });
  }

  /** @throws a unique violation when the provider has the name or id, or the organization the account */
  create(tx: WorkerTransaction, values: Values<ScimUser>): Promise<ScimUser> {
    return this.insert(tx, values);
  }

  /** @throws a unique violation, as `create` does */
  change(tx: WorkerTransaction, id: string, values: Values<ScimUser>): Promise<ScimUser> {
    return this.updateOne(tx, { id }, { ...values, updatedAt: () => 'now()' });
  }

  /** Leaves the roles of users to the job that applies settings. */
  async outdate(tx: WorkerTransaction, caller: ScimCaller, ids: readonly string[]): Promise<void> {
    await tx.query(`UPDATE scim_user u SET settings_version = 0 WHERE ${OF_PROVIDER} AND u.id = ANY (:ids::uuid[])`, {
      ...ownerOf(caller),
      ids,
    });
  }

  async remove(tx: WorkerTransaction, id: string): Promise<void> {
    await this.delete(tx, { id });
  }

  async lockMembership(tx: SqlExecutor, orgId: string, userId: string): Promise<ManagedMembership | null> {
    const [membership] = await tx.query<ManagedMembership>(
      `SELECT m.role_id AS "roleId", m.site_ids AS "siteIds", m.device_group_ids AS "deviceGroupIds"
       FROM organization_membership m WHERE m.org_id = :orgId AND m.user_id = :userId FOR UPDATE`,
      { orgId, userId },
    );
    return membership ?? null;
  }

  /** Lists the groups of users, by name. */
  listGroups(caller: ScimCaller, ids: readonly string[]): Promise<GroupOfUser[]> {
    return this.tenants.read<GroupOfUser>(
      caller,
      `SELECT m.scim_user_id AS "scimUserId", g.id, g.display_name AS "displayName"
       FROM scim_group_member m JOIN scim_group g ON g.id = m.group_id
       WHERE m.org_id = :orgId AND m.partner_id = :partnerId AND g.provider_id = :providerId
         AND m.scim_user_id = ANY (:ids::uuid[])
       ORDER BY lower(g.display_name), g.id LIMIT 10000`,
      { ...ownerOf(caller), ids },
    );
  }

  /**
   * Stores name and address of an account that SCIM created and that has no other use. @returns false for any other one
   * @throws a unique violation of `user_account_email_key` when another account has the address
   */
  async changeOwnAccount(
    tx: SqlExecutor,
    { userId, orgId }: Pick<ScimUser, 'userId' | 'orgId'>,
    { name, email }: { name: string; email: string },
  ): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE user_account a SET name = :name, email = :email, updated_at = now(),
         email_verified_at = CASE WHEN a.email = :email THEN a.email_verified_at ELSE now() END,
         email_epoch = a.email_epoch + (a.email <> :email)::integer, pending_email = NULL
       WHERE a.id = :userId AND a.password_hash IS NULL AND NOT a.is_platform_admin
         AND NOT EXISTS (SELECT FROM partner_membership m WHERE m.user_id = a.id)
         AND NOT EXISTS (SELECT FROM organization_membership m WHERE m.user_id = a.id AND m.org_id <> :orgId)
       RETURNING a.id`,
      { userId, orgId, name, email },
    );
    return rows.length === 1;
  }
}

export const ownerOf = ({ partnerId, orgId, providerId }: Pick<ScimCaller, 'partnerId' | 'orgId' | 'providerId'>) => ({
  partnerId,
  orgId,
  providerId,
});

/** Returns the parameters of conditions. The last one for an attribute applies; clients send one. */
export const valuesOf = (conditions: readonly FilterCondition<string>[]): Record<string, string> =>
  Object.fromEntries(conditions.map(({ attribute, value }) => [attribute, value]));
