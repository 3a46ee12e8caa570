import { ApiProperty } from '@nestjs/swagger';

export const AUDIT_RESULTS = ['success', 'failure', 'denied'] as const;
const nullableText = { type: String, nullable: true } as const;
const nullableId = { ...nullableText, format: 'uuid' } as const;

/** A sealed audit entry. @see docs/reference/audit.md */
export class AuditLogDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the entry' })
  id: string;
  @ApiProperty({ type: 'integer', description: 'Position in the chain of the partner, counted from 1' })
  sequence: number;
  @ApiProperty({ ...nullableId, description: 'Partner of the entry' })
  partnerId: string | null;
  @ApiProperty({ ...nullableId, description: 'Organization of the entry' })
  orgId: string | null;
  /** ISO 8601, milliseconds, Z. */
  @ApiProperty({ format: 'date-time', description: 'When it was recorded' })
  timestamp: string;
  @ApiProperty({ enum: ['user', 'api_key', 'agent', 'system'], description: 'What acted' })
  actorType: string;
  @ApiProperty({ ...nullableText, description: 'Id of the user, key or agent that acted' })
  actorId: string | null;
  @ApiProperty({ ...nullableText, description: 'E-mail address of the user who acted' })
  actorEmail: string | null;
  @ApiProperty({ example: 'api_key.create', description: 'What was done, such as `api_key.create`' })
  action: string;
  @ApiProperty({ description: 'Kind of the record' })
  resourceType: string;
  @ApiProperty({ ...nullableText, description: 'Id of the record' })
  resourceId: string | null;
  @ApiProperty({ ...nullableText, description: 'Name of the record at that time' })
  resourceName: string | null;
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'Details of the action' })
  details: Record<string, unknown>;
  @ApiProperty({ ...nullableText, description: 'Address of the client' })
  ipAddress: string | null;
  @ApiProperty({ ...nullableText, description: 'User agent of the client' })
  userAgent: string | null;
  @ApiProperty({ enum: AUDIT_RESULTS, description: 'Result' })
  result: string;
  @ApiProperty({ ...nullableText, description: 'Why it failed; null when it did not' })
  errorMessage: string | null;
  @ApiProperty({ ...nullableText, description: 'What started the action, when no user did' })
  initiatedBy: string | null;
  @ApiProperty({ ...nullableText, description: 'Id of the request, as in `X-Request-Id`' })
  requestId: string | null;
  @ApiProperty({ description: 'SHA-256, hex, of `previousChecksum` and the canonical JSON of the entry' })
  checksum: string;
  @ApiProperty({ description: 'Checksum of the entry before in the chain' })
  previousChecksum: string;
}

export class KeysetPaginationDto {
  @ApiProperty({ ...nullableText, description: 'For the next page; null on the last' })
  nextCursor: string | null;
  @ApiProperty({ type: 'integer', description: 'Records per page, as applied' })
  limit: number;
}

export class AuditLogPageDto {
  @ApiProperty({ type: [AuditLogDto], description: 'The entries of the page' })
  data: AuditLogDto[];
  @ApiProperty({ type: KeysetPaginationDto, description: 'Position of the page' })
  pagination: KeysetPaginationDto;
}
