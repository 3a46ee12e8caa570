import { IsInteger, IsIsoDateTime, IsName, IsOneOf, IsText, IsUuid } from '@rmm/service-kit';
import { AUDIT_RESULTS } from './audit-log.dto.js';

export class ListAuditLogsDto {
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

  @IsText({ optional: true, max: 2048 })
  cursor?: string;

  @IsInteger({ optional: true, min: 1, max: 100 })
  limit = 50;
}

export class VerifyAuditLogsDto {
  @IsUuid({ optional: true, description: 'Of system callers' })
  partnerId?: string;

  @IsIsoDateTime({ optional: true })
  from?: Date;

  @IsIsoDateTime({ optional: true })
  to?: Date;
}
