import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, FullPartnerAccess, RequirePermission, type UserCaller } from '@rmm/access';
import { AuditLogsService } from './audit-logs.service.js';
import { ListAuditLogsDto, VerifyAuditLogsDto } from './dto.js';

@ApiTags('Audit')
@Controller('audit-logs')
export class AuditLogsController {
  constructor(private readonly logs: AuditLogsService) {}

  @Get()
  @RequirePermission('audit:read')
  @ApiOperation({ summary: 'The audit trail, newest first' })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListAuditLogsDto) {
    return this.logs.list(caller, query);
  }

  @Get('verify')
  @RequirePermission('audit:manage')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Check the hash chain of a partner' })
  verify(@CurrentCaller() caller: UserCaller, @Query() query: VerifyAuditLogsDto) {
    return this.logs.verify(caller, query);
  }
}
