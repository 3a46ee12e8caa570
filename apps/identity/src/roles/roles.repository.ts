import { Injectable } from '@nestjs/common';
import { MAX_PARENT_DEPTH, type Permission } from '@rmm/permissions';
import { Tenants, type HasTenant, type SqlExecutor } from '@rmm/persistence';
import type { UserAxis } from '../users/user-axis.js';
import type { RoleListItemDto } from './role.dto.js';

/** A role as it is listed; times are texts of PostgreSQL. */
export type RoleRow = RoleListItemDto;

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
 * stands behind that copy. $1 scope, $2 partner, $3 organisation.
 */
const ON_AXIS = `r.scope = $1 and (
  (r.partner_id = $2 and r.org_id is not distinct from $3)
  or (r.partner_id is null and not exists (
    select from role own where own.partner_id = $2 and own.org_id is null and own.system_key = r.system_key)))`;

const PAGE = `
  select (select count(*)::integer from role r where ${ON_AXIS}) as total,
    coalesce((select json_agg(p order by p.partner_id nulls first, p.name, p.id) from (
      select r.id, r.name, r.description, r.scope, r.is_system as "isSystem", r.force_mfa as "forceMfa",
        r.partner_id as "partnerId", r.org_id as "orgId", r.parent_role_id as "parentRoleId",
        parent.name as "parentRoleName", r.created_at as "createdAt", r.updated_at as "updatedAt", r.partner_id,
        (select count(*) from partner_membership m where m.role_id = r.id)
          + (select count(*) from organization_membership m where m.role_id = r.id) as "userCount"
      from role r left join role parent on parent.id = r.parent_role_id
      where ${ON_AXIS} order by r.partner_id nulls first, r.name, r.id limit $4 offset $5
    ) p), '[]') as rows`;

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

const ownersOf = (axis: UserAxis) => [axis.kind, axis.partnerId, axis.kind === 'organization' ? axis.orgId : null];

/** Roles in the context of a tenant. */
@Injectable()
export class RolesRepository {
  constructor(private readonly tenants: Tenants) {}

  async page(
    caller: HasTenant,
    axis: UserAxis,
    { page, limit }: { page: number; limit: number },
  ): Promise<{ total: number; rows: RoleRow[] }> {
    const params = [...ownersOf(axis), limit, (page - 1) * limit];
    const [found] = await this.tenants.read<{ total: number; rows: RoleRow[] }>(caller, PAGE, params);
    return found ?? { total: 0, rows: [] };
  }

  /** A role of the axis with its permissions in force; null when the caller cannot see one of this id there. */
  async findGrantable(db: SqlExecutor, axis: UserAxis, roleId: string): Promise<GrantableRole | null> {
    const [role] = await db.query<GrantableRole>(GRANTABLE, [...ownersOf(axis), roleId]);
    return role ?? null;
  }
}
