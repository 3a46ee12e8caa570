import { Injectable } from '@nestjs/common';
import type { Permission } from '@rmm/permissions';
import type { SqlExecutor } from '@rmm/persistence';
import type { MemberScope } from '../members/member-scope.service.js';
import { ownersOf } from './roles.repository.js';

export interface RoleFields {
  name: string;
  description: string | null;
  parentRoleId: string | null;
  forceMfa: boolean;
}

/** Changes of custom roles, in the context of a tenant: row-level security refuses seeded and foreign ones. */
@Injectable()
export class RolesWriter {
  /** @returns the new role's id */
  async insert(tx: SqlExecutor, axis: MemberScope, role: RoleFields): Promise<string> {
    const { name, description, parentRoleId, forceMfa } = role;
    const [row] = await tx.query<{ id: string }>(
      `insert into role (scope, partner_id, org_id, name, description, parent_role_id, force_mfa)
       values ($1, $2, $3, $4, $5, $6, $7) returning id`,
      [...ownersOf(axis), name, description, parentRoleId, forceMfa],
    );
    if (!row) throw new Error('The role was not stored');
    return row.id;
  }

  async update(tx: SqlExecutor, roleId: string, role: RoleFields): Promise<void> {
    const { name, description, parentRoleId, forceMfa } = role;
    const rows = await tx.query(
      `update role set name = $2, description = $3, parent_role_id = $4, force_mfa = $5, version = version + 1,
         updated_at = now()
       where id = $1 returning id`,
      [roleId, name, description, parentRoleId, forceMfa],
    );
    if (rows.length === 0) throw new Error('The role was not stored');
  }

  /** Exactly these pairs, whatever there were. */
  async setPermissions(tx: SqlExecutor, roleId: string, permissions: readonly Permission[]): Promise<void> {
    await tx.query(
      `with wanted as (
         select p.id from permission p where p.resource || ':' || p.action = any($2::text[])
       ),
       gone as (
         delete from role_permission where role_id = $1 and permission_id not in (select id from wanted)
       )
       insert into role_permission (role_id, permission_id) select $1, id from wanted on conflict do nothing`,
      [roleId, permissions],
    );
  }

  /** Holds the role against assignments and new children, and counts what there is. */
  async holdForRemoval(tx: SqlExecutor, roleId: string): Promise<{ userCount: number; childRoleCount: number }> {
    await tx.query('select id from role where id = $1 for update', [roleId]);
    const [counts] = await tx.query<{ userCount: number; childRoleCount: number }>(
      `select ((select count(*) from partner_membership where role_id = $1)
           + (select count(*) from organization_membership where role_id = $1))::integer as "userCount",
         (select count(*)::integer from role where parent_role_id = $1) as "childRoleCount"`,
      [roleId],
    );
    return counts ?? { userCount: 0, childRoleCount: 0 };
  }

  async remove(tx: SqlExecutor, roleId: string): Promise<void> {
    await tx.query('delete from role where id = $1', [roleId]);
  }
}
