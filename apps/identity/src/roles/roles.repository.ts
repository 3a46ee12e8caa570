import { Injectable } from '@nestjs/common';
import {
  MAX_PARENT_DEPTH,
  PERMISSION_VOCABULARY,
  splitPermission,
  SYSTEM_ROLES,
  type Permission,
  type RoleNode,
} from '@rmm/permissions';
import {
  listPage,
  TenantDatabase,
  TenantRepository,
  type HasTenant,
  type PageRequest,
  type PageRows,
  type QueryShape,
  type Source,
  type SqlExecutor,
  type TenantTransaction,
  type WorkerTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import type { MemberScope } from '../members/member-scope.service.js';
import type { MemberSites } from '../members/members.repository.js';
import type { UserStatus } from '../users/user.types.js';
import { RoleTree } from './role-tree.js';
import { Role } from './role.entity.js';

/** A role as it is listed. */
export interface ListedRole extends Role {
  parentRoleName: string | null;
  userCount: number;
}

/** One role with its own permissions. */
export interface RoleWithPermissions extends ListedRole {
  permissions: Permission[];
}

export interface RoleUser {
  id: string;
  name: string;
  email: string;
  status: UserStatus;
  lastLoginAt: Date | null;
}

/** A role with the permissions in force: its own and those of its whole parent chain. */
export interface GrantableRole {
  id: string;
  name: string;
  scope: string;
  systemKey: string | null;
  permissions: Permission[];
}

export type RoleFields = Pick<Role, 'name' | 'description' | 'parentRoleId' | 'forceMfa'>;

/**
 * An SQL expression: the permissions of a role, inherited ones included, as `text[]` of `resource:action`; empty for no
 * role.
 * @param roleId the expression of the role's id in the statement around it
 */
export const permissionsOfRole = (roleId: string): string => `coalesce((
  WITH RECURSIVE chain AS (
    SELECT first.id, first.parent_role_id, 0 AS depth FROM role first WHERE first.id = ${roleId}
    UNION ALL
    SELECT parent.id, parent.parent_role_id, chain.depth + 1
    FROM role parent JOIN chain ON parent.id = chain.parent_role_id WHERE chain.depth < ${MAX_PARENT_DEPTH}
  )
  SELECT array_agg(DISTINCT permission.resource || ':' || permission.action)
  FROM chain JOIN role_permission rp ON rp.role_id = chain.id JOIN permission ON permission.id = rp.permission_id
), '{}')`;

/** The roles of a scope: its own and the seeded ones; a partner's copy of a seeded role hides the seeded one. */
const IN_SCOPE = `role.scope = :kind AND (
  (role.partnerId = :partnerId AND role.orgId IS NOT DISTINCT FROM :orgId)
  OR (role.partnerId IS NULL AND NOT EXISTS (
    SELECT FROM role copy
    WHERE copy.partner_id = :partnerId AND copy.org_id IS NULL AND copy.system_key = role.systemKey)))`;

const OWN_PERMISSIONS = `ARRAY(SELECT p.resource || ':' || p.action
  FROM role_permission rp JOIN permission p ON p.id = rp.permission_id WHERE rp.role_id = role.id ORDER BY 1)`;

const USER_COUNT = `((SELECT count(*) FROM partner_membership m WHERE m.role_id = role.id)
  + (SELECT count(*) FROM organization_membership m WHERE m.role_id = role.id))::integer`;

const LISTED: QueryShape<Role> = {
  key: 'listed',
  build: (query) =>
    query
      .leftJoin(Role, 'parent', 'parent.id = role.parentRoleId')
      .addSelect('parent.name', 'parentRoleName')
      .addSelect(USER_COUNT, 'userCount'),
};

const WITH_PERMISSIONS: QueryShape<Role> = {
  key: 'with permissions',
  build: (query) => LISTED.build(query).addSelect(OWN_PERMISSIONS, 'permissions'),
};

const TREE_NODE: QueryShape<Role> = {
  key: 'tree node',
  build: (query) => query.addSelect(OWN_PERMISSIONS, 'permissions'),
};

const GRANTABLE: QueryShape<Role> = {
  key: 'grantable',
  build: (query) => query.addSelect(permissionsOfRole('role.id'), 'permissions'),
};

/** Members restricted to no more sites and device groups than the caller; null is no restriction. */
const WITHIN_SITES = ` AND (:siteIds::uuid[] IS NULL OR m.site_ids <@ :siteIds::uuid[])
  AND (:deviceGroupIds::uuid[] IS NULL OR m.device_group_ids <@ :deviceGroupIds::uuid[])`;

const EXACT_PERMISSIONS = `
  WITH wanted AS (
    SELECT p.id FROM permission p WHERE p.resource || ':' || p.action = ANY(:permissions::text[])
  ),
  removed AS (
    DELETE FROM role_permission WHERE role_id = :roleId AND permission_id NOT IN (SELECT id FROM wanted)
  )
  INSERT INTO role_permission (role_id, permission_id) SELECT :roleId, id FROM wanted ON CONFLICT DO NOTHING`;

/** Advisory lock: replicas that start together seed one after the other. */
const SEED_LOCK = 727_001;

const SEEDED_PERMISSIONS = [
  ...Object.entries(PERMISSION_VOCABULARY).flatMap(([resource, actions]) =>
    [...actions].map((action) => ({ resource, action })),
  ),
  { resource: '*', action: '*' },
];

const SEEDED_ROLES = SYSTEM_ROLES.map((role) => ({ ...role, force_mfa: role.forceMfa }));

const SEEDED_GRANTS = SYSTEM_ROLES.flatMap(({ key, permissions }) =>
  permissions.map((permission) => ({ key, ...splitPermission(permission) })),
);

/** Reads and writes roles. Row-level security hides foreign roles and refuses changes of seeded ones. */
@Injectable()
export class RolesRepository extends TenantRepository<Role> {
  constructor(tenants: TenantDatabase) {
    super(tenants, Role, () => new NotFoundError('Role'));
  }

  /** System roles first, then by name. */
  list(source: Source, scope: MemberScope, page: PageRequest): Promise<PageRows<ListedRole>> {
    return this.listPage<ListedRole>(source, {
      conditions: [inScope(scope)],
      shape: LISTED,
      sort: { isSystem: 'DESC', name: 'ASC', id: 'ASC' },
      page,
    });
  }

  /** Returns a role whatever its scope. @throws NotFoundError when the caller does not see it */
  getAnywhere(source: Source, roleId: string): Promise<Role> {
    return this.getOne(source, { where: { id: roleId } });
  }

  /** @throws NotFoundError */
  get(source: Source, scope: MemberScope, roleId: string): Promise<RoleWithPermissions> {
    return this.getOne<RoleWithPermissions>(source, {
      where: { id: roleId },
      conditions: [inScope(scope)],
      shape: WITH_PERMISSIONS,
    });
  }

  /** Returns a role with its permissions in force, or null when the scope has no such role. */
  findGrantable(source: Source, scope: MemberScope, roleId: string): Promise<GrantableRole | null> {
    return this.findOne<GrantableRole>(source, {
      columns: ['id', 'name', 'scope', 'systemKey'],
      where: { id: roleId },
      conditions: [inScope(scope)],
      shape: GRANTABLE,
    });
  }

  /** Returns a role by its name in any case, the oldest one of several; null without one. */
  findGrantableByName(source: Source, scope: MemberScope, name: string): Promise<GrantableRole | null> {
    return this.findOne<GrantableRole>(source, {
      columns: ['id', 'name', 'scope', 'systemKey'],
      conditions: [inScope(scope), { sql: 'lower(role.name) = lower(:roleName)', params: { roleName: name } }],
      shape: GRANTABLE,
      sort: { createdAt: 'ASC', id: 'ASC' },
    });
  }

  /** Returns every role of the scope with its own permissions and its parent. */
  async getTree(source: Source, scope: MemberScope): Promise<RoleTree> {
    const nodes = await this.findMany<RoleNode>(source, {
      columns: ['id', 'name', 'parentRoleId'],
      conditions: [inScope(scope)],
      shape: TREE_NODE,
    });
    return new RoleTree(nodes);
  }

  /** Returns the permissions that these roles grant together, whatever their scopes. */
  async listPermissions(db: SqlExecutor, roleIds: readonly (string | null)[]): Promise<Permission[]> {
    const [row] = await db.query<{ permissions: Permission[] }>(
      `SELECT coalesce(array_agg(DISTINCT granted.permission), '{}') AS permissions
       FROM unnest(:roleIds::uuid[]) AS given(id), unnest(${permissionsOfRole('given.id')}) AS granted(permission)`,
      { roleIds },
    );
    return row?.permissions ?? [];
  }

  /** Lists the members of the scope who have the role, newest membership first, without those of sites that the caller has no access to. */
  listUsers(
    caller: HasTenant & MemberSites,
    scope: MemberScope,
    roleId: string,
    page: PageRequest,
  ): Promise<PageRows<RoleUser>> {
    const isPartner = scope.kind === 'partner';
    const { siteIds, deviceGroupIds } = caller;
    return listPage<RoleUser>(this.tenants.reader(caller), {
      select: 'u.id, u.name, u.email, u.status, u.last_login_at AS "lastLoginAt"',
      from: `${isPartner ? 'partner_membership' : 'organization_membership'} m JOIN user_account u ON u.id = m.user_id`,
      where: `m.role_id = :roleId AND ${isPartner ? 'm.partner_id' : 'm.org_id'} = :ownerId${isPartner ? '' : WITHIN_SITES}`,
      params: {
        roleId,
        ownerId: isPartner ? scope.partnerId : scope.orgId,
        ...(!isPartner && { siteIds, deviceGroupIds }),
      },
      orderBy: 'm.created_at DESC, m.id DESC',
      page,
    });
  }

  /** Counts the roles that the scope created itself. */
  async countCustom(tx: SqlExecutor, scope: MemberScope): Promise<number> {
    const { partnerId, orgId } = ownerOf(scope);
    const [counted] = await tx.query<{ roles: number }>(
      `SELECT count(*)::integer AS roles FROM role
       WHERE partner_id = :partnerId AND org_id IS NOT DISTINCT FROM :orgId::uuid AND NOT is_system`,
      { partnerId, orgId },
    );
    return counted?.roles ?? 0;
  }

  create(tx: TenantTransaction, scope: MemberScope, fields: RoleFields): Promise<Role> {
    const { kind, partnerId, orgId } = ownerOf(scope);
    return this.insert(tx, { ...fields, scope: kind, partnerId, orgId });
  }

  async change(tx: TenantTransaction, role: Role, fields: RoleFields): Promise<void> {
    await this.updateOne(tx, { id: role.id }, { ...fields, version: role.version + 1 });
  }

  async remove(tx: TenantTransaction, roleId: string): Promise<void> {
    await this.delete(tx, { id: roleId });
  }

  /** Replaces the role's own permissions. One statement, since a role has up to 500 of them. */
  async setPermissions(tx: SqlExecutor, roleId: string, permissions: readonly Permission[]): Promise<void> {
    await tx.query(EXACT_PERMISSIONS, { roleId, permissions });
  }

  /** Locks the role against assignments and new children, and counts both; open invitations count as assignments. */
  async lockForRemoval(tx: TenantTransaction, roleId: string): Promise<{ userCount: number; childRoleCount: number }> {
    await this.getOne(tx, { where: { id: roleId }, lock: 'FOR UPDATE' });
    const [counts] = await tx.query<{ userCount: number; childRoleCount: number }>(
      `SELECT ((SELECT count(*) FROM partner_membership WHERE role_id = :roleId)
           + (SELECT count(*) FROM organization_membership WHERE role_id = :roleId)
           + (SELECT count(*) FROM invitation WHERE role_id = :roleId))::integer AS "userCount",
         (SELECT count(*)::integer FROM role WHERE parent_role_id = :roleId) AS "childRoleCount"`,
      { roleId },
    );
    return counts ?? { userCount: 0, childRoleCount: 0 };
  }

  /**
   * Locks the roles of a partner and of its organizations until the transaction ends. Changes run one after the other,
   * so that two changes of parents never close a circle together.
   */
  async lockForChange(tx: SqlExecutor, partnerId: string): Promise<void> {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('roles:' || :partnerId, 0))`, { partnerId });
  }

  /** Lets no role of the partner change until the transaction ends; any number of transactions share the lock. */
  async lockAgainstChange(tx: SqlExecutor, partnerId: string): Promise<void> {
    await tx.query(`SELECT pg_advisory_xact_lock_shared(hashtextextended('roles:' || :partnerId, 0))`, { partnerId });
  }

  /**
   * Stores the permissions and system roles of `@rmm/permissions`; running it again changes nothing. Under the worker
   * login, because tenants cannot change system roles.
   */
  async seed(tx: WorkerTransaction): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock(:lock)', { lock: SEED_LOCK });
    await tx.query(
      `INSERT INTO permission (resource, action)
       SELECT p.resource, p.action FROM json_to_recordset(:permissions::json) AS p(resource text, action text)
       ON CONFLICT (resource, action) DO NOTHING`,
      { permissions: JSON.stringify(SEEDED_PERMISSIONS) },
    );
    await this.seedRoles(tx);
    await this.seedGrants(tx);
  }

  private async seedRoles(tx: WorkerTransaction): Promise<void> {
    await tx.query(
      `INSERT INTO role (system_key, scope, name, description, force_mfa, is_system)
       SELECT s.key, s.scope, s.name, s.description, s.force_mfa, TRUE
       FROM json_to_recordset(:roles::json) AS s(key text, scope text, name text, description text, force_mfa boolean)
       ON CONFLICT (system_key) WHERE partner_id IS NULL DO UPDATE
         SET name = excluded.name, description = excluded.description, force_mfa = excluded.force_mfa, updated_at = now()
         WHERE (role.name, role.description, role.force_mfa)
           IS DISTINCT FROM (excluded.name, excluded.description, excluded.force_mfa)`,
      { roles: JSON.stringify(SEEDED_ROLES) },
    );
  }

  /** Grants exactly the permissions of the code: those it no longer names are removed. */
  private async seedGrants(tx: WorkerTransaction): Promise<void> {
    await tx.query(
      `WITH wanted AS (
         SELECT r.id AS role_id, p.id AS permission_id
         FROM json_to_recordset(:grants::json) AS g(key text, resource text, action text)
         JOIN role r ON r.system_key = g.key AND r.partner_id IS NULL
         JOIN permission p ON p.resource = g.resource AND p.action = g.action
       ),
       gone AS (
         DELETE FROM role_permission rp USING role r
         WHERE r.id = rp.role_id AND r.is_system AND r.partner_id IS NULL
           AND NOT EXISTS (SELECT FROM wanted w WHERE w.role_id = rp.role_id AND w.permission_id = rp.permission_id)
       )
       INSERT INTO role_permission (role_id, permission_id) SELECT role_id, permission_id FROM wanted
       ON CONFLICT DO NOTHING`,
      { grants: JSON.stringify(SEEDED_GRANTS) },
    );
  }
}

const ownerOf = (scope: MemberScope) => ({
  kind: scope.kind,
  partnerId: scope.partnerId,
  orgId: scope.kind === 'organization' ? scope.orgId : null,
});

const inScope = (scope: MemberScope) => ({ sql: IN_SCOPE, params: ownerOf(scope) });
