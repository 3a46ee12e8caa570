import { IsCursor, IsInteger, IsIsoDateTime, IsName, IsOneOf, IsUuid } from '@rmm/validation';
import { AUDIT_FORMATS, type AuditFormat } from '../audit-file.js';
import { AUDIT_RESULTS } from './audit-log.dto.js';

/** Filters of lists and exports. */
export class AuditFiltersDto {
  @IsName({ optional: true, description: 'Only those of this user, key or agent' })
  actorId?: string;

  @IsName({ optional: true, description: 'Exact, or `prefix.*`', example: 'api_key.*' })
  action?: string;

  @IsName({ optional: true, description: 'Only those about this kind of record' })
  resourceType?: string;

  @IsName({ optional: true, description: 'Only those about this record' })
  resourceId?: string;

  @IsUuid({ optional: true, description: 'Only those of this organization' })
  orgId?: string;

  @IsIsoDateTime({ optional: true, description: 'Only those since this day or time' })
  from?: Date;

  @IsIsoDateTime({ optional: true, description: 'Only those until this day or time' })
  to?: Date;

  @IsOneOf(AUDIT_RESULTS, { optional: true, description: 'Only those with this result' })
  result?: string;
}

export class ListAuditLogsDto extends AuditFiltersDto {
  @IsCursor({ optional: true, description: '`nextCursor` of the page before' })
  cursor?: string;

  @IsInteger({ optional: true, min: 1, max: 100, description: 'Records per page' })
  limit = 50;
}

export class ExportAuditLogsDto extends AuditFiltersDto {
  @IsOneOf(AUDIT_FORMATS, { optional: true, description: 'Format of the export' })
  format: AuditFormat = 'csv';
}

export class VerifyAuditLogsDto {
  @IsUuid({ optional: true, description: 'For system scope: the partner; absent for the chain of the platform' })
  partnerId?: string;

  @IsIsoDateTime({ optional: true, description: 'Only those since this day or time' })
  from?: Date;

  @IsIsoDateTime({ optional: true, description: 'Only those until this day or time' })
  to?: Date;
}
