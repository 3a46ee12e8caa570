import type { UserCaller } from '@rmm/access';
import type { KeysetQuery } from '@rmm/persistence';
import type { AuditLogDto } from './audit-log.dto.js';
import type { AuditFiltersDto } from './dto.js';

const SELECT = `id, sequence, partner_id as "partnerId", org_id as "orgId", timestamp, actor_type as "actorType",
  actor_id as "actorId", actor_email as "actorEmail", action, resource_type as "resourceType",
  resource_id as "resourceId", resource_name as "resourceName", details, ip_address as "ipAddress",
  user_agent as "userAgent", result, error_message as "errorMessage", initiated_by as "initiatedBy",
  request_id as "requestId", checksum, previous_checksum as "previousChecksum"`;

const SORT: KeysetQuery['sort'] = [
  { expression: 'timestamp', type: 'timestamptz' },
  { expression: 'id', type: 'uuid' },
];

/** What an index narrows no further stands here whether asked for or not, so that few texts are prepared. */
const WITHIN = [
  '(:resourceType::text is null or resource_type = :resourceType)',
  '(:result::text is null or result = :result)',
  '(:prefix::text is null or starts_with(action, :prefix))',
  "timestamp >= coalesce(:from::timestamptz, '-infinity')",
  "timestamp < coalesce(:to::timestamptz, 'infinity')",
];

/** A row as PostgreSQL hands it out. */
export type AuditLogRow = Omit<AuditLogDto, 'sequence' | 'timestamp'> & { sequence: string; timestamp: Date };

/**
 * The rows that answer a caller's filters, for keyset paging. Row-level security decides what is in reach; the axis is
 * repeated as plain conditions, because the policy is an expression that no index can be asked with.
 */
export function auditSearch(
  caller: UserCaller,
  filters: AuditFiltersDto,
): Pick<KeysetQuery, 'select' | 'from' | 'where' | 'params' | 'sort'> {
  const { action, resourceType, result, from, to } = filters;
  const prefix = action?.endsWith('.*') ? action.slice(0, -1) : null;
  const params: Record<string, unknown> = { resourceType, result, prefix, from, to };
  const conditions = [...WITHIN];
  const add = (name: string, condition: string, value: unknown) => {
    if (value === undefined || value === null) return;
    conditions.push(condition);
    params[name] = value;
  };
  const { scope, partnerId, orgId, orgAccess, orgIds } = caller.tenant;
  if (scope === 'organization') add('tenantOrgId', 'org_id = :tenantOrgId::uuid', orgId);
  if (scope === 'partner') add('tenantPartnerId', 'partner_id = :tenantPartnerId::uuid', partnerId);
  if (scope === 'partner' && orgAccess === 'selected')
    add('tenantOrgIds', 'org_id = any(:tenantOrgIds::uuid[])', orgIds);
  add('orgId', 'org_id = :orgId::uuid', filters.orgId);
  add('actorId', 'actor_id = :actorId::text', filters.actorId);
  add('resourceId', 'resource_id = :resourceId::text', filters.resourceId);
  if (prefix === null) add('action', 'action = :action::text', action);
  return { select: SELECT, from: 'audit_entry', where: conditions.join(' and '), params, sort: SORT };
}

export const toAuditLogDto = (row: AuditLogRow): AuditLogDto => ({
  id: row.id,
  sequence: Number(row.sequence),
  partnerId: row.partnerId,
  orgId: row.orgId,
  timestamp: row.timestamp.toISOString(),
  actorType: row.actorType,
  actorId: row.actorId,
  actorEmail: row.actorEmail,
  action: row.action,
  resourceType: row.resourceType,
  resourceId: row.resourceId,
  resourceName: row.resourceName,
  details: row.details,
  ipAddress: row.ipAddress,
  userAgent: row.userAgent,
  result: row.result,
  errorMessage: row.errorMessage,
  initiatedBy: row.initiatedBy,
  requestId: row.requestId,
  checksum: row.checksum,
  previousChecksum: row.previousChecksum,
});
