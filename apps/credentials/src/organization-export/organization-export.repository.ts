import { Injectable } from '@nestjs/common';
import { EXPORT_READ_LIMIT, tenantOf } from '@rmm/access';
import type { CredentialsExportRequest } from '@rmm/contracts';
import { tenantCondition, TenantDatabase } from '@rmm/persistence';

/** Named one by one, so that no hash is ever exported. */
const COLUMNS: Record<CredentialsExportRequest['resource'], string> = {
  api_key: `k.id, k.name, k.description, k.key_prefix AS "keyPrefix", k.scopes, k.status, k.source,
    k.principal_id AS "principalId", k.expires_at AS "expiresAt", k.rate_limit AS "rateLimit",
    k.source_cidrs AS "sourceCidrs", k.created_by AS "createdBy", k.last_used_at AS "lastUsedAt",
    k.usage_count::text AS "usageCount", k.created_at AS "createdAt", k.updated_at AS "updatedAt"`,
  service_principal: `k.id, k.name, k.scopes, k.status, k.created_by AS "createdBy", k.created_at AS "createdAt",
    k.updated_at AS "updatedAt"`,
  enrollment_key: `k.id, k.name, k.site_id AS "siteId", k.usage_count AS "usageCount", k.max_usage AS "maxUsage",
    k.expires_at AS "expiresAt", k.created_by AS "createdBy", k.created_at AS "createdAt"`,
};

/** Reads the keys and principals of an organization, also of a deleted one, in pages ordered by id. */
@Injectable()
export class OrganizationExportRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  list({ caller, orgId, partnerId, resource, after }: CredentialsExportRequest): Promise<{ id: string }[]> {
    const acting = tenantOf(caller);
    const { sql, params } = tenantCondition(acting, 'organization', 'k');
    return this.tenants.read<{ id: string }>(
      acting,
      `SELECT ${COLUMNS[resource]} FROM ${resource} k
        WHERE ${sql} AND k.org_id = :orgId AND k.partner_id = :partnerId AND (:after::uuid IS NULL OR k.id > :after::uuid)
        ORDER BY k.id LIMIT :limit`,
      { ...params, orgId, partnerId, after, limit: EXPORT_READ_LIMIT },
    );
  }
}
