import { Injectable } from '@nestjs/common';
import { EXPORT_READ_LIMIT, type UserCaller } from '@rmm/access';
import type { IdentityExportRequest } from '@rmm/contracts';
import { tenantCondition, TenantDatabase } from '@rmm/persistence';

/** The resources that are rows of an organization. */
export type ExportedTable = Exclude<IdentityExportRequest['resource'], 'audit_entry'>;

const SOURCES: Record<ExportedTable, string> = {
  member: `
    SELECT m.id, m.user_id AS "userId", u.email, u.name, u.status, r.name AS role, m.site_ids AS "siteIds",
           m.device_group_ids AS "deviceGroupIds", u.mfa_enabled AS "mfaEnabled", u.last_login_at AS "lastLoginAt",
           m.created_at AS "createdAt"
      FROM organization_membership m JOIN user_account u ON u.id = m.user_id JOIN role r ON r.id = m.role_id`,
  invitation: `
    SELECT m.id, m.email, m.name, r.name AS role, m.site_ids AS "siteIds", m.device_group_ids AS "deviceGroupIds",
           m.expires_at AS "expiresAt", m.accepted_at AS "acceptedAt", m.created_at AS "createdAt"
      FROM invitation m LEFT JOIN role r ON r.id = m.role_id`,
  role: `
    SELECT m.id, m.name, m.description, m.parent_role_id AS "parentRoleId", m.force_mfa AS "forceMfa",
           ARRAY(SELECT p.resource || ':' || p.action FROM role_permission rp JOIN permission p ON p.id = rp.permission_id
                  WHERE rp.role_id = m.id ORDER BY 1) AS permissions,
           m.created_at AS "createdAt", m.updated_at AS "updatedAt"
      FROM role m`,
  security_policy: `
    SELECT m.org_id AS id, m.settings, m.updated_at AS "updatedAt" FROM organization_security_policy m`,
  scim_user: `
    SELECT m.id, m.provider_id AS "providerId", m.user_id AS "userId", m.user_name AS "userName",
           m.external_id AS "externalId", m.email, m.display_name AS "displayName", m.given_name AS "givenName",
           m.family_name AS "familyName", m.active, m.created_at AS "createdAt", m.updated_at AS "updatedAt"
      FROM scim_user m`,
  scim_group: `
    SELECT m.id, m.provider_id AS "providerId", m.display_name AS "displayName", m.external_id AS "externalId",
           ARRAY(SELECT g.scim_user_id FROM scim_group_member g WHERE g.group_id = m.id ORDER BY 1) AS "scimUserIds",
           m.created_at AS "createdAt", m.updated_at AS "updatedAt"
      FROM scim_group m`,
};

/** Reads what identity stores of an organization, also of a deleted one, in pages ordered by id. */
@Injectable()
export class OrganizationExportRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  list(
    caller: UserCaller,
    { orgId, partnerId, after }: Pick<IdentityExportRequest, 'orgId' | 'partnerId' | 'after'>,
    resource: ExportedTable,
  ): Promise<{ id: string }[]> {
    const { sql, params } = tenantCondition(caller, 'organization', 'm');
    const id = resource === 'security_policy' ? 'm.org_id' : 'm.id';
    return this.tenants.read<{ id: string }>(
      caller,
      `${SOURCES[resource]}
        WHERE ${sql} AND m.org_id = :orgId AND m.partner_id = :partnerId AND (:after::uuid IS NULL OR ${id} > :after::uuid)
        ORDER BY ${id} LIMIT :limit`,
      { ...params, orgId, partnerId, after, limit: EXPORT_READ_LIMIT },
    );
  }
}
