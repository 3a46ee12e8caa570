import { Controller, Get, Header, Query, Res, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, FullPartnerAccess, RequirePermission, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { closedSignal, type HttpResponse } from '../sessions/http-request.js';
import { AUDIT_FILES } from './audit-file.js';
import { AuditLogsService } from './audit-logs.service.js';
import { ChainVerificationService } from './chain-verification.service.js';
import { ExportAuditLogsDto, ListAuditLogsDto, VerifyAuditLogsDto } from './dto/audit-filters.dto.js';
import { AuditLogPageDto } from './dto/audit-log.dto.js';
import { ChainVerificationDto } from './dto/chain-verification.dto.js';

const TEXT = { schema: { type: 'string', format: 'binary' } } as const;
const FILE_TYPES = Object.values(AUDIT_FILES).map(({ mediaType }) => [mediaType.split(';')[0], TEXT] as const);

@ApiTags('Audit')
@ErrorCodes({ 400: ['invalid_cursor'] })
@Controller('audit-logs')
export class AuditLogsController {
  constructor(
    private readonly logs: AuditLogsService,
    private readonly chains: ChainVerificationService,
  ) {}

  @Get()
  @RequirePermission('audit:read')
  @ApiOperation({ summary: 'List audit entries, newest first' })
  @ApiOkResponse({ type: AuditLogPageDto })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListAuditLogsDto): Promise<AuditLogPageDto> {
    return this.logs.list(caller, query);
  }

  @Get('export')
  @RequirePermission('audit:export')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Export audit entries as a file, oldest first' })
  @ApiOkResponse({ content: Object.fromEntries(FILE_TYPES) })
  export(@CurrentCaller() caller: UserCaller, @Query() query: ExportAuditLogsDto): Promise<StreamableFile> {
    return this.logs.export(caller, query);
  }

  @Get('verify')
  @RequirePermission('audit:manage')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Verify the hash chain of a partner', description: 'At most ten times an hour per user.' })
  @ApiOkResponse({ type: ChainVerificationDto })
  verify(
    @CurrentCaller() caller: UserCaller,
    @Query() query: VerifyAuditLogsDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<ChainVerificationDto> {
    return this.chains.verify(caller, query, closedSignal(response));
  }
}
