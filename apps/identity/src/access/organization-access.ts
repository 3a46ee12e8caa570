import { Injectable } from '@nestjs/common';
import type { AccessGrant, AccessInOrganization, AccessInOrganizationRequest } from '@rmm/contracts';
import { WorkerDatabase } from '@rmm/persistence';
import { permissionsOfRole } from '../roles/permissions-sql.js';

interface GrantRow extends AccessGrant {
  email: string;
  name: string;
  status: string;
  /** Null for a user without any membership that reaches the organization. */
  roleId: string | null;
}

/** $1 user, $2 partner, $3 organization: one row per membership that reaches the organization, at least one. */
const RESOLVE = `
  select u.email, u.name, u.status, m.role_id as "roleId", m.scope, m.site_ids as "siteIds",
    m.device_group_ids as "deviceGroupIds",
    ${permissionsOfRole('m.role_id')} as permissions
  from user_account u
  left join lateral (
    select pm.role_id, 'partner' as scope, null::uuid[] as site_ids, null::uuid[] as device_group_ids
      from partner_membership pm
      where pm.user_id = u.id and pm.partner_id = $2
        and (pm.org_access = 'all' or (pm.org_access = 'selected' and $3 = any (pm.org_ids)))
    union all
    select om.role_id, 'organization', om.site_ids, om.device_group_ids
      from organization_membership om where om.user_id = u.id and om.org_id = $3 and om.partner_id = $2
    union all
    select seeded.id, 'system', null, null
      from role seeded
      where u.is_platform_admin and seeded.system_key = 'platform_admin' and seeded.partner_id is null
  ) m on true
  where u.id = $1`;

/** What a user may do in an organization whether signed in or not: what keys they made are judged by. */
@Injectable()
export class OrganizationAccess {
  constructor(private readonly worker: WorkerDatabase) {}

  /** @returns null when there is no such user */
  async of({ userId, partnerId, orgId }: AccessInOrganizationRequest): Promise<AccessInOrganization | null> {
    const rows = await this.worker.query<GrantRow>(RESOLVE, [userId, partnerId, orgId]);
    const [user] = rows;
    if (!user) return null;
    const grants = rows
      .filter(({ roleId }) => roleId !== null)
      .map(({ scope, permissions, siteIds, deviceGroupIds }) => ({ scope, permissions, siteIds, deviceGroupIds }));
    const { email, name, status } = user;
    return { userId, email, name, active: status === 'active', grants };
  }
}
