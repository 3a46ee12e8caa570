import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  Idempotent,
  RequireMfa,
  RequirePermission,
  SkipFallbackAudit,
  type UserCaller,
} from '@rmm/access';
import { LimitConcurrency, RateLimit } from '@rmm/rate-limits';
import { ErrorCodes } from '@rmm/service-kit';
import { CONCURRENT_IMPORTS, importingTenant, LIMITS } from '../../limits.js';
import { BundleExportService } from './bundle-export.service.js';
import { BundleImportService } from './bundle-import.service.js';
import { ExportBundleDto, ImportBundleDto, PreviewBundleDto } from './dto/bundle-requests.dto.js';
import { BundleImportResultDto, BundlePreviewDto, ScriptBundleDto } from './dto/bundle-results.dto.js';

/** @see docs/reference/provisioning.md#scripts */
@ApiTags('Scripts')
@Controller('scripts/bundle')
export class ScriptBundlesController {
  constructor(
    private readonly imports: BundleImportService,
    private readonly exports: BundleExportService,
  ) {}

  @Post('preview')
  @RequirePermission('scripts:write')
  @AllowScopes('partner', 'system')
  @RequireMfa()
  @LimitConcurrency(CONCURRENT_IMPORTS, importingTenant)
  @SkipFallbackAudit()
  @HttpCode(200)
  @ErrorCodes({ 400: ['unsupported_bundle_version'] })
  @ApiOperation({
    summary: 'Preview the import of a script bundle',
    description: 'Returns the status of each entry and writes nothing.',
  })
  @ApiOkResponse({ type: BundlePreviewDto })
  preview(@CurrentCaller() caller: UserCaller, @Body() dto: PreviewBundleDto): Promise<BundlePreviewDto> {
    return this.imports.preview(caller, dto);
  }

  @Post('import')
  @RequirePermission('scripts:write')
  @AllowScopes('partner', 'system')
  @RequireMfa()
  @LimitConcurrency(CONCURRENT_IMPORTS, importingTenant)
  @Idempotent()
  @HttpCode(200)
  @ApiHeader({ name: 'Idempotency-Key', required: false, description: 'A repeated request gets the stored response' })
  @ErrorCodes({
    400: ['unsupported_bundle_version', 'invalid_idempotency_key'],
    409: ['idempotency_key_reused', 'idempotency_key_in_use', 'idempotent_response_not_stored'],
    429: ['too_many_idempotency_keys'],
  })
  @ApiOperation({
    summary: 'Import a script bundle',
    description: 'Entries are imported one by one; `errors` lists the refused ones. Nothing is run.',
  })
  @ApiOkResponse({ type: BundleImportResultDto })
  import(@CurrentCaller() caller: UserCaller, @Body() dto: ImportBundleDto): Promise<BundleImportResultDto> {
    return this.imports.import(caller, dto);
  }

  @Get('export')
  @RequirePermission('scripts:read')
  @RateLimit(LIMITS.scriptExport, 'user')
  @ErrorCodes({ 404: ['not_found'] })
  @ApiOperation({ summary: 'Export scripts as a bundle', description: 'In the order of the ids.' })
  @ApiOkResponse({ type: ScriptBundleDto })
  export(@CurrentCaller() caller: UserCaller, @Query() query: ExportBundleDto): Promise<ScriptBundleDto> {
    return this.exports.export(caller, query.ids);
  }
}
