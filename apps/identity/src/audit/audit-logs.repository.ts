import { Inject, Injectable } from '@nestjs/common';
import { createHmac } from 'node:crypto';
import { isSiteRestricted, type UserCaller } from '@rmm/access';
import {
  Cursors,
  keysetPage,
  TenantDatabase,
  type CursorBinding,
  type KeysetQuery,
  type KeysetRows,
} from '@rmm/persistence';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { AuditLogRow } from './audit-log.mapper.js';
import type { AuditFiltersDto } from './dto/audit-filters.dto.js';

const SELECT = `id, sequence, partner_id AS "partnerId", org_id AS "orgId", timestamp, actor_type AS "actorType",
  actor_id AS "actorId", actor_email AS "actorEmail", action, resource_type AS "resourceType",
  resource_id AS "resourceId", resource_name AS "resourceName", details, ip_address AS "ipAddress",
  user_agent AS "userAgent", result, error_message AS "errorMessage", initiated_by AS "initiatedBy",
  request_id AS "requestId", checksum, previous_checksum AS "previousChecksum"`;

const SORT: KeysetQuery['sort'] = [
  { expression: 'timestamp', type: 'timestamptz' },
  { expression: 'id', type: 'uuid' },
];

/** Conditions that no index serves are part of every statement, so that few texts are prepared. */
const FILTERS = [
  '(:resourceType::text IS NULL OR resource_type = :resourceType)',
  '(:result::text IS NULL OR result = :result)',
  '(:prefix::text IS NULL OR starts_with(action, :prefix))',
  "timestamp >= coalesce(:from::timestamptz, '-infinity')",
  "timestamp < coalesce(:to::timestamptz, 'infinity')",
];

export interface AuditPageRequest {
  direction: 'asc' | 'desc';
  limit: number;
  cursor?: string | null;
}

/** Searches audit entries. SQL, because its conditions are chosen for the indexes of a partitioned table. */
@Injectable()
export class AuditLogsRepository {
  private readonly cursors: Cursors;

  constructor(
    private readonly tenants: TenantDatabase,
    @Inject(IDENTITY_CONFIG) config: IdentityConfig,
  ) {
    const { keys, activeKid } = config.secrets.keyRing;
    this.cursors = new Cursors(
      createHmac('sha256', keys[activeKid] ?? '')
        .update('audit-log cursors')
        .digest(),
    );
  }

  /** Lists one page; the cost does not depend on its depth. @throws InvalidCursor */
  search(
    caller: UserCaller,
    filters: AuditFiltersDto,
    binding: CursorBinding,
    page: AuditPageRequest,
  ): Promise<KeysetRows<AuditLogRow>> {
    const query: KeysetQuery = { ...auditSearch(caller, filters), ...page };
    return keysetPage<AuditLogRow>(this.tenants.reader(caller), this.cursors, binding, query);
  }
}

/**
 * Returns the statement for the filters of a caller. Row-level security limits the result; the caller's tenant is repeated
 * as plain conditions, because no index serves the expression of a policy.
 */
export function auditSearch(
  caller: UserCaller,
  filters: AuditFiltersDto,
): Pick<KeysetQuery, 'select' | 'from' | 'where' | 'params' | 'sort'> {
  const { action, resourceType, result, from, to } = filters;
  const prefix = action?.endsWith('.*') ? action.slice(0, -1) : null;
  const params: Record<string, unknown> = { resourceType, result, prefix, from, to };
  const conditions = [...FILTERS];
  const add = (name: string, condition: string, value: unknown) => {
    if (value === undefined || value === null) return;
    conditions.push(condition);
    params[name] = value;
  };
  const { scope, partnerId, orgId, orgAccess, orgIds } = caller.tenant;
  if (scope === 'organization') add('tenantOrgId', 'org_id = :tenantOrgId::uuid', orgId);
  if (scope === 'partner') add('tenantPartnerId', 'partner_id = :tenantPartnerId::uuid', partnerId);
  if (scope === 'partner' && orgAccess === 'selected') {
    add('tenantOrgIds', 'org_id = ANY (:tenantOrgIds::uuid[])', orgIds);
  }
  // Entries name no site, so a caller restricted to sites sees the entries of its own acts.
  if (isSiteRestricted(caller)) add('ownId', 'actor_id = :ownId::text', caller.userId);
  add('orgId', 'org_id = :orgId::uuid', filters.orgId);
  add('actorId', 'actor_id = :actorId::text', filters.actorId);
  add('resourceId', 'resource_id = :resourceId::text', filters.resourceId);
  if (prefix === null) add('action', 'action = :action::text', action);
  return { select: SELECT, from: 'audit_entry', where: conditions.join(' AND '), params, sort: SORT };
}
