import { ApiProperty } from '@nestjs/swagger';

export const AUDIT_RESULTS = ['success', 'failure', 'denied'] as const;
const nullableText = { type: String, nullable: true } as const;
const nullableId = { ...nullableText, format: 'uuid' } as const;

/** A sealed audit entry. @see docs/reference/audit.md */
export class AuditLogDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ type: 'integer', description: 'Position in the chain of the partner, counted from 1' })
  sequence: number;
  @ApiProperty(nullableId)
  partnerId: string | null;
  @ApiProperty(nullableId)
  orgId: string | null;
  /** ISO 8601, milliseconds, Z. */
  @ApiProperty({ format: 'date-time' })
  timestamp: string;
  @ApiProperty({ enum: ['user', 'api_key', 'agent', 'system'] })
  actorType: string;
  @ApiProperty(nullableText)
  actorId: string | null;
  @ApiProperty(nullableText)
  actorEmail: string | null;
  @ApiProperty({ example: 'api_key.create' })
  action: string;
  @ApiProperty()
  resourceType: string;
  @ApiProperty(nullableText)
  resourceId: string | null;
  @ApiProperty(nullableText)
  resourceName: string | null;
  @ApiProperty({ type: 'object', additionalProperties: true })
  details: Record<string, unknown>;
  @ApiProperty(nullableText)
  ipAddress: string | null;
  @ApiProperty(nullableText)
  userAgent: string | null;
  @ApiProperty({ enum: AUDIT_RESULTS })
  result: string;
  @ApiProperty(nullableText)
  errorMessage: string | null;
  @ApiProperty(nullableText)
  initiatedBy: string | null;
  @ApiProperty(nullableText)
  requestId: string | null;
  @ApiProperty({ description: 'SHA-256, hex, of `previousChecksum` and the canonical JSON of the entry' })
  checksum: string;
  @ApiProperty()
  previousChecksum: string;
}

export class KeysetPaginationDto {
  @ApiProperty({ ...nullableText, description: 'For the next page; null on the last' })
  nextCursor: string | null;
  @ApiProperty({ type: 'integer' })
  limit: number;
}

export class AuditLogPageDto {
  @ApiProperty({ type: [AuditLogDto] })
  data: AuditLogDto[];
  @ApiProperty({ type: KeysetPaginationDto })
  pagination: KeysetPaginationDto;
}
