import { MAX_PARENT_DEPTH } from '@rmm/permissions';

/**
 * An SQL expression: what a role gives, inheritance included, as `text[]` of `resource:action`; empty for no role.
 * @param roleId  the expression of the role's id in the statement around it
 */
export const permissionsOfRole = (roleId: string): string => `coalesce((
  with recursive chain as (
    select role.id, role.parent_role_id, 0 as depth from role where role.id = ${roleId}
    union all
    select parent.id, parent.parent_role_id, chain.depth + 1
    from role parent join chain on parent.id = chain.parent_role_id where chain.depth < ${MAX_PARENT_DEPTH}
  )
  select array_agg(distinct permission.resource || ':' || permission.action)
  from chain join role_permission rp on rp.role_id = chain.id join permission on permission.id = rp.permission_id
), '{}')`;
