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
  type UserCaller,
} from '@rmm/access';
import { LimitConcurrency, RateLimit } from '@rmm/rate-limits';
import { ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { ImportResultDto } from '../import/dto/import-results.dto.js';
import { CONCURRENT_IMPORTS, CONCURRENT_PSA_PREVIEWS, importingTenant, LIMITS } from '../limits.js';
import { CommitPsaImportDto, PsaPreviewDto } from './dto/psa-import.dto.js';
import { PsaImportService } from './psa-import.service.js';

const ConnectionId = () => UuidParam('id', 'PSA connection');

/** @see docs/reference/provisioning.md#psa */
@ApiTags('PSA')
@Controller('psa/connections/:id/import')
@RequirePermission('organizations:write', 'sites:write')
@AllowScopes('partner', 'system')
@FullPartnerAccess()
@RequireMfa()
export class PsaImportController {
  constructor(private readonly imports: PsaImportService) {}

  @Post('preview')
  @LimitConcurrency(CONCURRENT_PSA_PREVIEWS, importingTenant)
  @RateLimit(LIMITS.psaPreview, 'user')
  @SkipFallbackAudit()
  @HttpCode(200)
  @ErrorCodes({
    400: ['psa_listing_unsupported', 'psa_credentials_incomplete'],
    409: ['psa_connection_paused'],
    502: ['psa_request_refused', 'upstream_failed'],
  })
  @ApiOperation({
    summary: 'Preview the import of a PSA',
    description:
      'Lists the companies that are not linked yet as rows, with the effect that a commit of them would have. Takes up to a minute.',
  })
  @ApiOkResponse({ type: PsaPreviewDto })
  preview(@CurrentCaller() caller: UserCaller, @ConnectionId() id: string): Promise<PsaPreviewDto> {
    return this.imports.preview(caller, id);
  }

  @Post()
  @LimitConcurrency(CONCURRENT_IMPORTS, importingTenant)
  @Idempotent()
  @HttpCode(200)
  @ApiHeader({ name: 'Idempotency-Key', required: false, description: 'A repeated request gets the stored response' })
  @ErrorCodes({
    400: ['invalid_idempotency_key', 'psa_listing_unsupported'],
    409: ['idempotency_key_reused', 'idempotency_key_in_use', 'idempotent_response_not_stored'],
    429: ['too_many_idempotency_keys'],
  })
  @ApiOperation({
    summary: 'Import companies of a PSA',
    description:
      'Imports rows of a preview as organizations with links to the companies. Sends no request to the PSA. Otherwise as `/orgs/import`.',
  })
  @ApiOkResponse({ type: ImportResultDto })
  commit(
    @CurrentCaller() caller: UserCaller,
    @ConnectionId() id: string,
    @Body() dto: CommitPsaImportDto,
  ): Promise<ImportResultDto> {
    return this.imports.commit(caller, id, dto);
  }
}
