import type { AuditLogDto } from './dto/audit-log.dto.js';

/** An entry as pg returns it. */
export type AuditLogRow = Omit<AuditLogDto, 'sequence' | 'timestamp'> & { sequence: string; timestamp: Date };

/** Maps an entry; the order of its members is that of the response. */
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
