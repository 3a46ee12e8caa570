import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, FullPartnerAccess, RequirePermission, type UserCaller } from '@rmm/access';
import { AuditLogPageDto } from './audit-log.dto.js';
import { AuditLogsService } from './audit-logs.service.js';
import { ChainVerificationDto } from './chain-verification.dto.js';
import { ListAuditLogsDto, VerifyAuditLogsDto } from './dto.js';

@ApiTags('Audit')
@Controller('audit-logs')
export class AuditLogsController {
  constructor(private readonly logs: AuditLogsService) {}

  @Get()
  @RequirePermission('audit:read')
  @ApiOperation({ summary: 'The audit trail, newest first' })
  @ApiOkResponse({ type: AuditLogPageDto })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListAuditLogsDto): Promise<AuditLogPageDto> {
    return this.logs.list(caller, query);
  }

  @Get('verify')
  @RequirePermission('audit:manage')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Check the hash chain of a partner' })
  @ApiOkResponse({ type: ChainVerificationDto })
  verify(@CurrentCaller() caller: UserCaller, @Query() query: VerifyAuditLogsDto): Promise<ChainVerificationDto> {
    return this.logs.verify(caller, query);
  }
}
