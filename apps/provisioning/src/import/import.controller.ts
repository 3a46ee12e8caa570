import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  Idempotent,
  RequireMfa,
  RequirePermission,
  SkipFallbackAudit,
  type Caller,
} from '@rmm/access';
import { LimitConcurrency } from '@rmm/rate-limits';
import { ErrorCodes } from '@rmm/service-kit';
import { CONCURRENT_IMPORTS, importingTenant } from '../limits.js';
import { ImportPreviewDto, ImportResultDto } from './dto/import-results.dto.js';
import { CommitImportDto, PreviewImportDto } from './dto/import-rows.dto.js';
import { ImportService } from './import.service.js';

@ApiTags('Import')
@Controller('orgs/import')
@RequirePermission('organizations:write', 'sites:write')
@AllowScopes('partner', 'system')
@FullPartnerAccess()
@RequireMfa()
export class ImportController {
  constructor(private readonly imports: ImportService) {}

  @Post('preview')
  @LimitConcurrency(CONCURRENT_IMPORTS, importingTenant)
  @SkipFallbackAudit()
  @HttpCode(200)
  @ApiOperation({ summary: 'Preview an import', description: 'Returns the effect on each row and writes nothing.' })
  @ApiOkResponse({ type: ImportPreviewDto })
  preview(@CurrentCaller() caller: Caller, @Body() dto: PreviewImportDto): Promise<ImportPreviewDto> {
    return this.imports.preview(caller, dto);
  }

  @Post()
  @LimitConcurrency(CONCURRENT_IMPORTS, importingTenant)
  @Idempotent()
  @HttpCode(200)
  @ApiHeader({ name: 'Idempotency-Key', required: false, description: 'A repeated request gets the stored response' })
  @ApiOperation({
    summary: 'Import organizations and sites',
    description: 'Rows of one organization are imported together or not at all; `errors` lists the refused rows.',
  })
  @ApiOkResponse({ type: ImportResultDto })
  @ErrorCodes({
    400: ['invalid_idempotency_key'],
    409: ['idempotency_key_reused', 'idempotency_key_in_use', 'idempotent_response_not_stored'],
    429: ['too_many_idempotency_keys'],
  })
  commit(@CurrentCaller() caller: Caller, @Body() dto: CommitImportDto): Promise<ImportResultDto> {
    return this.imports.commit(caller, dto);
  }
}
