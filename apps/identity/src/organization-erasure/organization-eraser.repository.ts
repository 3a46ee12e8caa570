import { Injectable } from '@nestjs/common';
import type { ErasedOrganization, OrganizationEraser } from '@rmm/access';
import type { ErasedCounts } from '@rmm/contracts';
import type { SqlExecutor, WorkerTransaction } from '@rmm/persistence';

const OF_ORGANIZATION = 'org_id = :orgId AND partner_id = :partnerId';

/** A role goes before its parent. */
const ERASE_ROLES = `
  DELETE FROM role WHERE id IN (
    SELECT r.id FROM role r WHERE r.org_id = :orgId AND r.partner_id = :partnerId
       AND NOT EXISTS (SELECT FROM role child WHERE child.parent_role_id = r.id) LIMIT :limit)
  RETURNING 1 AS one`;

const ERASE_NAMES = `
  DELETE FROM audit_name WHERE org_id = :orgId AND pseudonym IN (
    SELECT pseudonym FROM audit_name WHERE org_id = :orgId LIMIT :limit) RETURNING 1 AS one`;

/** With the lock no membership or invitation of the account is added before it is deleted. */
const LOCK_ACCOUNTS = `
  SELECT id FROM user_account WHERE id = ANY (:userIds::uuid[]) ORDER BY id FOR UPDATE`;

const ERASE_ACCOUNTS = `
  DELETE FROM user_account u WHERE u.id = ANY (:userIds::uuid[]) AND NOT u.is_platform_admin
     AND NOT EXISTS (SELECT FROM partner_membership m WHERE m.user_id = u.id)
     AND NOT EXISTS (SELECT FROM organization_membership m WHERE m.user_id = u.id)
     AND NOT EXISTS (SELECT FROM scim_user s WHERE s.user_id = u.id)
     AND NOT EXISTS (SELECT FROM invitation i WHERE i.user_id = u.id AND i.accepted_at IS NULL)
  RETURNING 1 AS one`;

interface Ids extends Record<string, unknown> {
  orgId: string;
  partnerId: string;
  limit: number;
}

/**
 * Erases the sessions, providers of single sign-on, what SCIM has provisioned, members, roles and policies of an organization, the accounts that belong to no other tenant, and the
 * names in its audit entries. The entries stay, with pseudonyms. Uses the worker login: there is no caller.
 */
@Injectable()
export class OrganizationEraserRepository implements OrganizationEraser {
  async eraseBatch(
    tx: WorkerTransaction,
    { orgId, partnerId }: ErasedOrganization,
    limit: number,
  ): Promise<ErasedCounts | null> {
    const ids: Ids = { orgId, partnerId, limit };
    return (
      (await this.eraseFrom(tx, 'session_family', 'session', ids)) ??
      (await this.eraseFrom(tx, 'scim_token', 'scim_token', ids)) ??
      (await this.eraseFrom(tx, 'scim_group', 'scim_group', ids)) ??
      (await this.eraseUsers(tx, 'scim_user', 'scim_user', ids)) ??
      (await this.eraseFrom(tx, 'sso_domain', 'sso_domain', ids)) ??
      (await this.eraseFrom(tx, 'sso_provider', 'sso_provider', ids)) ??
      (await this.eraseUsers(tx, 'invitation', 'invitation', ids)) ??
      (await this.eraseUsers(tx, 'organization_membership', 'membership', ids)) ??
      (await countedAs('role', tx.query(ERASE_ROLES, ids))) ??
      (await this.erasePolicy(tx, ids)) ??
      (await this.eraseNames(tx, ids))
    );
  }

  private eraseFrom(tx: SqlExecutor, table: string, kind: string, ids: Ids): Promise<ErasedCounts | null> {
    const sql = `
      DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE ${OF_ORGANIZATION} LIMIT :limit) RETURNING 1 AS one`;
    return countedAs(kind, tx.query(sql, ids));
  }

  /** Erases memberships or invitations, and then the accounts that have no other one. */
  private async eraseUsers(tx: SqlExecutor, table: string, kind: string, ids: Ids): Promise<ErasedCounts | null> {
    const rows = await tx.query<{ userId: string }>(
      `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE ${OF_ORGANIZATION} LIMIT :limit)
       RETURNING user_id AS "userId"`,
      ids,
    );
    if (rows.length === 0) return null;
    const userIds = rows.map(({ userId }) => userId);
    await tx.query(LOCK_ACCOUNTS, { userIds });
    const accounts = await tx.query(ERASE_ACCOUNTS, { userIds });
    return { [kind]: rows.length, account: accounts.length };
  }

  private async erasePolicy(tx: SqlExecutor, ids: Ids): Promise<ErasedCounts | null> {
    const { orgId, partnerId } = ids;
    await tx.query('DELETE FROM member_count WHERE owner_id = :orgId', { orgId });
    const sql = `DELETE FROM organization_security_policy WHERE ${OF_ORGANIZATION} RETURNING 1 AS one`;
    return countedAs('security_policy', tx.query(sql, { orgId, partnerId }));
  }

  /** Waits for entries that are being sealed; those that are sealed later store no names, since the erasure is known. */
  private async eraseNames(tx: SqlExecutor, { orgId, partnerId, limit }: Ids): Promise<ErasedCounts | null> {
    await tx.query('SELECT FROM audit_head WHERE chain = :chain FOR UPDATE', { chain: partnerId });
    await tx.query('DELETE FROM audit_name_salt WHERE org_id = :orgId', { orgId });
    return countedAs('audit_name', tx.query(ERASE_NAMES, { orgId, limit }));
  }
}

async function countedAs(kind: string, erased: Promise<unknown[]>): Promise<ErasedCounts | null> {
  const { length } = await erased;
  return length > 0 ? { [kind]: length } : null;
}
