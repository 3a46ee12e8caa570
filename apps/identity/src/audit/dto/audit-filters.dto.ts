import { IsInteger, IsIsoDateTime, IsName, IsOneOf, IsText, IsUuid } from '@rmm/validation';
import { AUDIT_FORMATS, type AuditFormat } from '../audit-file.js';
import { AUDIT_RESULTS } from './audit-log.dto.js';

/** Filters of lists and exports. */
export class AuditFiltersDto {
  @IsName({ optional: true })
  actorId?: string;

  @IsName({ optional: true, description: 'Exact, or `prefix.*`', example: 'api_key.*' })
  action?: string;

  @IsName({ optional: true })
  resourceType?: string;

  @IsName({ optional: true })
  resourceId?: string;

  @IsUuid({ optional: true })
  orgId?: string;

  @IsIsoDateTime({ optional: true })
  from?: Date;

  @IsIsoDateTime({ optional: true })
  to?: Date;

  @IsOneOf(AUDIT_RESULTS, { optional: true })
  result?: string;
}

export class ListAuditLogsDto extends AuditFiltersDto {
  @IsText({ optional: true, max: 2048 })
  cursor?: string;

  @IsInteger({ optional: true, min: 1, max: 100 })
  limit = 50;
}

export class ExportAuditLogsDto extends AuditFiltersDto {
  @IsOneOf(AUDIT_FORMATS, { optional: true })
  format: AuditFormat = 'csv';
}

export class VerifyAuditLogsDto {
  @IsUuid({ optional: true, description: 'For system scope: the partner; absent for the chain of the platform' })
  partnerId?: string;

  @IsIsoDateTime({ optional: true })
  from?: Date;

  @IsIsoDateTime({ optional: true })
  to?: Date;
}
