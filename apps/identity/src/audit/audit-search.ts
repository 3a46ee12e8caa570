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
  '($1::text is null or resource_type = $1)',
  '($2::text is null or result = $2)',
  '($3::text is null or starts_with(action, $3))',
  "timestamp >= coalesce($4::timestamptz, '-infinity')",
  "timestamp < coalesce($5::timestamptz, 'infinity')",
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
  const params: unknown[] = [resourceType ?? null, result ?? null, prefix, from ?? null, to ?? null];
  const conditions = [...WITHIN];
  const must = (condition: (parameter: string) => string, value: unknown) => {
    if (value === undefined || value === null) return;
    conditions.push(condition(`$${params.push(value)}`));
  };
  const { scope, partnerId, orgId, orgAccess, orgIds } = caller.tenant;
  if (scope === 'organization') must((p) => `org_id = ${p}::uuid`, orgId);
  if (scope === 'partner') must((p) => `partner_id = ${p}::uuid`, partnerId);
  if (scope === 'partner' && orgAccess === 'selected') must((p) => `org_id = any(${p}::uuid[])`, orgIds);
  must((p) => `org_id = ${p}::uuid`, filters.orgId);
  must((p) => `actor_id = ${p}::text`, filters.actorId);
  must((p) => `resource_id = ${p}::text`, filters.resourceId);
  if (prefix === null) must((p) => `action = ${p}::text`, action);
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
