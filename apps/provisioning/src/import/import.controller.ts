import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequireMfa,
  RequirePermission,
  SkipFallbackAudit,
  type Caller,
} from '@rmm/access';
import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { ImportPreviewDto, ImportResultDto } from './dto/import-answers.dto.js';
import { CommitImportDto, PreviewImportDto } from './dto/import-rows.dto.js';
import { ImportService, type ImportPreview, type ImportResult } from './import.service.js';

@ApiTags('Import')
@Controller('orgs/import')
@RequirePermission('organizations:write', 'sites:write')
@AllowScopes('partner', 'system')
@FullPartnerAccess()
@RequireMfa()
export class ImportController {
  constructor(private readonly imports: ImportService) {}

  @Post('preview')
  @SkipFallbackAudit()
  @HttpCode(200)
  @ApiOkResponse({ type: ImportPreviewDto })
  preview(@CurrentCaller() caller: Caller, @Body() dto: PreviewImportDto): Promise<ImportPreview> {
    return this.imports.preview(caller, dto.rows, dto.partnerId);
  }

  @Post()
  @HttpCode(200)
  @ApiOkResponse({ type: ImportResultDto })
  commit(@CurrentCaller() caller: Caller, @Body() dto: CommitImportDto): Promise<ImportResult> {
    return this.imports.commit(caller, dto.rows, dto.mode ?? 'skip', dto.partnerId);
  }
}
