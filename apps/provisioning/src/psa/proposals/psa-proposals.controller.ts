import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  Idempotent,
  RequireMfa,
  RequirePermission,
  type UserCaller,
} from '@rmm/access';
import { LimitConcurrency } from '@rmm/rate-limits';
import { ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { ImportResultDto } from '../../import/dto/import-results.dto.js';
import { CONCURRENT_IMPORTS, importingTenant } from '../../limits.js';
import { sortedPageOf, type SortedPage } from '../../lists/dto/sorted-page.dto.js';
import {
  AcceptPsaProposalsDto,
  DismissedProposalsDto,
  DismissPsaProposalsDto,
  ListPsaProposalsDto,
  PsaProposalDto,
} from './dto/psa-proposal.dto.js';
import { PsaProposalsService } from './psa-proposals.service.js';

const ConnectionId = () => UuidParam('id', 'PSA connection');

/** @see docs/reference/provisioning.md#scheduled-sync */
@ApiTags('PSA')
@Controller('psa/connections/:id/proposals')
@AllowScopes('partner', 'system')
@FullPartnerAccess()
export class PsaProposalsController {
  constructor(private readonly proposals: PsaProposalsService) {}

  @Get()
  @RequirePermission('organizations:read')
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOperation({
    summary: 'List the proposals of a scheduled sync',
    description:
      'New companies with the effect of accepting them, and new names of linked ones; newest first by default.',
  })
  @ApiOkResponse({ type: sortedPageOf(PsaProposalDto) })
  list(
    @CurrentCaller() caller: UserCaller,
    @ConnectionId() id: string,
    @Query() query: ListPsaProposalsDto,
  ): Promise<SortedPage<PsaProposalDto>> {
    return this.proposals.list(caller, id, query);
  }

  @Post('accept')
  @RequirePermission('organizations:write', 'sites:write')
  @RequireMfa()
  @LimitConcurrency(CONCURRENT_IMPORTS, importingTenant)
  @Idempotent()
  @HttpCode(200)
  @ApiHeader({ name: 'Idempotency-Key', required: false, description: 'A repeated request gets the stored response' })
  @ErrorCodes({
    400: ['invalid_idempotency_key'],
    409: ['idempotency_key_reused', 'idempotency_key_in_use', 'idempotent_response_not_stored'],
    429: ['too_many_idempotency_keys'],
  })
  @ApiOperation({
    summary: 'Import proposed companies',
    description: 'As the import of a preview; `index` in the response counts the items. Sends no request to the PSA.',
  })
  @ApiOkResponse({ type: ImportResultDto })
  accept(
    @CurrentCaller() caller: UserCaller,
    @ConnectionId() id: string,
    @Body() dto: AcceptPsaProposalsDto,
  ): Promise<ImportResultDto> {
    return this.proposals.accept(caller, id, dto);
  }

  @Post('dismiss')
  @RequirePermission('organizations:write')
  @RequireMfa()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Dismiss proposals',
    description:
      'A dismissed company is not proposed again; a dismissed name is reported again when the company gets yet another one.',
  })
  @ApiOkResponse({ type: DismissedProposalsDto })
  dismiss(
    @CurrentCaller() caller: UserCaller,
    @ConnectionId() id: string,
    @Body() dto: DismissPsaProposalsDto,
  ): Promise<DismissedProposalsDto> {
    return this.proposals.dismiss(caller, id, dto);
  }
}
