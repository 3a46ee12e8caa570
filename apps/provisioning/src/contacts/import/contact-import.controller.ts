import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  Idempotent,
  RequireMfa,
  RequirePermission,
  SkipFallbackAudit,
  type Caller,
} from '@rmm/access';
import { LimitConcurrency } from '@rmm/rate-limits';
import { ErrorCodes } from '@rmm/service-kit';
import { CONCURRENT_IMPORTS, importingTenant } from '../../limits.js';
import { ContactImportService } from './contact-import.service.js';
import { ContactImportPreviewDto, ContactImportResultDto } from './dto/contact-import-results.dto.js';
import { CommitContactImportDto, PreviewContactImportDto } from './dto/contact-import.dto.js';

@ApiTags('Import')
@Controller('orgs/contacts/import')
@RequirePermission('organizations:write')
@AllowScopes('partner', 'system')
@RequireMfa()
export class ContactImportController {
  constructor(private readonly imports: ContactImportService) {}

  @Post('preview')
  @LimitConcurrency(CONCURRENT_IMPORTS, importingTenant)
  @SkipFallbackAudit()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Preview a contact import',
    description: 'Returns the effect on each row and writes nothing.',
  })
  @ApiOkResponse({ type: ContactImportPreviewDto })
  preview(@CurrentCaller() caller: Caller, @Body() dto: PreviewContactImportDto): Promise<ContactImportPreviewDto> {
    return this.imports.preview(caller, dto);
  }

  @Post()
  @LimitConcurrency(CONCURRENT_IMPORTS, importingTenant)
  @Idempotent()
  @HttpCode(200)
  @ApiHeader({ name: 'Idempotency-Key', required: false, description: 'A repeated request gets the stored response' })
  @ApiOperation({
    summary: 'Import contacts',
    description: 'Rows are imported one by one; `errors` lists the refused ones. Blank columns keep what is stored.',
  })
  @ApiOkResponse({ type: ContactImportResultDto })
  @ErrorCodes({
    400: ['invalid_idempotency_key'],
    409: ['idempotency_key_reused', 'idempotency_key_in_use', 'idempotent_response_not_stored'],
    429: ['too_many_idempotency_keys'],
  })
  commit(@CurrentCaller() caller: Caller, @Body() dto: CommitContactImportDto): Promise<ContactImportResultDto> {
    return this.imports.commit(caller, dto);
  }
}
