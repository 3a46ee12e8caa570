import { Injectable } from '@nestjs/common';
import type { AccessScope } from '@rmm/contracts';
import { MAX_PARENT_DEPTH, type Permission, type RoleNode } from '@rmm/permissions';
import { TenantDatabase, type HasTenant, type SqlExecutor } from '@rmm/persistence';
import type { UserStatus } from '../users/user.js';
import type { MemberScope } from '../members/member-scope.service.js';
import type { RoleListItemDto } from './role.dto.js';
import { RoleTree } from './role-tree.js';

/** A role as it is listed; times are texts of PostgreSQL. */
export type RoleRow = RoleListItemDto;

/** One role with its own pairs. */
export type WholeRole = RoleRow & { permissions: Permission[] };

/** Whose a role is: both null for a seeded one. */
export interface RoleOwner {
  scope: AccessScope;
  partnerId: string | null;
  orgId: string | null;
}

/** Who holds a role; times are texts of PostgreSQL. */
export interface RoleUserRow {
  id: string;
  name: string;
  email: string;
  status: UserStatus;
  lastLoginAt: string | null;
}

/** A role as grants need it. */
export interface GrantableRole {
  id: string;
  name: string;
  scope: string;
  systemKey: string | null;
  /** With those of its whole parent chain. */
  permissions: Permission[];
}

/**
 * The roles of an axis: its own and the seeded ones of its scope; a seeded role that the partner has its own copy of
 * stands behind that copy. $1 scope, $2 partner, $3 organization.
 */
const ON_AXIS = `r.scope = $1 and (
  (r.partner_id = $2 and r.org_id is not distinct from $3)
  or (r.partner_id is null and not exists (
    select from role own where own.partner_id = $2 and own.org_id is null and own.system_key = r.system_key)))`;

const COLUMNS = `r.id, r.name, r.description, r.scope, r.is_system as "isSystem", r.force_mfa as "forceMfa",
        r.partner_id as "partnerId", r.org_id as "orgId", r.parent_role_id as "parentRoleId",
        parent.name as "parentRoleName", r.created_at as "createdAt", r.updated_at as "updatedAt", r.partner_id,
        (select count(*) from partner_membership m where m.role_id = r.id)
          + (select count(*) from organization_membership m where m.role_id = r.id) as "userCount"`;

const OWN_PERMISSIONS = `array(select p.resource || ':' || p.action
  from role_permission rp join permission p on p.id = rp.permission_id where rp.role_id = r.id order by 1)`;

const PAGE = `
  select (select count(*)::integer from role r where ${ON_AXIS}) as total,
    coalesce((select json_agg(p order by p.partner_id nulls first, p.name, p.id) from (
      select ${COLUMNS}
      from role r left join role parent on parent.id = r.parent_role_id
      where ${ON_AXIS} order by r.partner_id nulls first, r.name, r.id limit $4 offset $5
    ) p), '[]') as rows`;

const ONE = `select ${COLUMNS}, ${OWN_PERMISSIONS} as permissions
  from role r left join role parent on parent.id = r.parent_role_id where r.id = $4 and ${ON_AXIS}`;

const TREE = `select r.id, r.name, r.parent_role_id as "parentRoleId", ${OWN_PERMISSIONS} as permissions
  from role r where ${ON_AXIS}`;

/** What some roles give together, with their parent chains. $1 roles */
const IN_FORCE = `
  with recursive chain as (
    select r.id, r.parent_role_id, 0 as depth from role r where r.id = any($1::uuid[])
    union all
    select p.id, p.parent_role_id, c.depth + 1 from role p join chain c on p.id = c.parent_role_id
    where c.depth < ${MAX_PARENT_DEPTH}
  )
  select coalesce(array_agg(distinct p.resource || ':' || p.action), '{}') as permissions
  from chain c join role_permission rp on rp.role_id = c.id join permission p on p.id = rp.permission_id`;

/** $1 role, $2 owner, $3 limit, $4 offset */
const usersSql = (axis: MemberScope['kind']) => {
  const members = `from ${axis}_membership m join user_account u on u.id = m.user_id
    where m.role_id = $1 and m.${axis === 'partner' ? 'partner_id' : 'org_id'} = $2`;
  return `select (select count(*)::integer ${members}) as total,
    coalesce((select json_agg(p order by p.member_since desc, p.member_id desc) from (
      select u.id, u.name, u.email, u.status, u.last_login_at as "lastLoginAt", m.created_at as member_since,
        m.id as member_id ${members} order by m.created_at desc, m.id desc limit $3 offset $4) p), '[]') as rows`;
};

const USERS = { partner: usersSql('partner'), organization: usersSql('organization') };

const GRANTABLE = `
  with recursive chain as (
    select r.id, r.parent_role_id, 0 as depth from role r where r.id = $4 and ${ON_AXIS}
    union all
    select p.id, p.parent_role_id, c.depth + 1 from role p join chain c on p.id = c.parent_role_id
    where c.depth < ${MAX_PARENT_DEPTH}
  )
  select r.id, r.name, r.scope, r.system_key as "systemKey",
    coalesce((select array_agg(distinct p.resource || ':' || p.action)
      from chain c join role_permission rp on rp.role_id = c.id join permission p on p.id = rp.permission_id), '{}')
      as permissions
  from role r where r.id = $4 and ${ON_AXIS}`;

/** $1 to $3 of `ON_AXIS`. */
export const ownersOf = (axis: MemberScope) => [
  axis.kind,
  axis.partnerId,
  axis.kind === 'organization' ? axis.orgId : null,
];

/** Roles in the context of a tenant. */
@Injectable()
export class RolesRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  async page(
    caller: HasTenant,
    axis: MemberScope,
    { page, limit }: { page: number; limit: number },
  ): Promise<{ total: number; rows: RoleRow[] }> {
    const params = [...ownersOf(axis), limit, (page - 1) * limit];
    const [found] = await this.tenants.read<{ total: number; rows: RoleRow[] }>(caller, PAGE, params);
    return found ?? { total: 0, rows: [] };
  }

  /** Whose a role is, if the caller sees it at all. */
  async findOwner(caller: HasTenant, roleId: string): Promise<RoleOwner | null> {
    const sql = 'select scope, partner_id as "partnerId", org_id as "orgId" from role where id = $1';
    const [owner] = await this.tenants.read<RoleOwner>(caller, sql, [roleId]);
    return owner ?? null;
  }

  async find(db: SqlExecutor, axis: MemberScope, roleId: string): Promise<WholeRole | null> {
    const [role] = await db.query<WholeRole>(ONE, [...ownersOf(axis), roleId]);
    return role ?? null;
  }

  /** Every role of the axis with its own pairs and its parent. */
  async tree(db: SqlExecutor, axis: MemberScope): Promise<RoleTree> {
    return new RoleTree(await db.query<RoleNode>(TREE, ownersOf(axis)));
  }

  async users(
    caller: HasTenant,
    axis: MemberScope,
    roleId: string,
    { page, limit }: { page: number; limit: number },
  ): Promise<{ total: number; rows: RoleUserRow[] }> {
    const owner = axis.kind === 'partner' ? axis.partnerId : axis.orgId;
    const params = [roleId, owner, limit, (page - 1) * limit];
    const [found] = await this.tenants.read<{ total: number; rows: RoleUserRow[] }>(caller, USERS[axis.kind], params);
    return found ?? { total: 0, rows: [] };
  }

  /** A role of the axis with its permissions in force; null when the caller cannot see one of this id there. */
  async findGrantable(db: SqlExecutor, axis: MemberScope, roleId: string): Promise<GrantableRole | null> {
    const [role] = await db.query<GrantableRole>(GRANTABLE, [...ownersOf(axis), roleId]);
    return role ?? null;
  }

  /** What these roles give together, on whatever axis they stand; for judging a user, not for showing. */
  async permissionsOf(db: SqlExecutor, roleIds: readonly (string | null)[]): Promise<Permission[]> {
    const [row] = await db.query<{ permissions: Permission[] }>(IN_FORCE, [roleIds]);
    return row?.permissions ?? [];
  }
}
