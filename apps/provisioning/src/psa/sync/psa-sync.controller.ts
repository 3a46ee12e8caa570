import { Body, Controller, Get, HttpCode, Post, Put } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequireMfa,
  RequirePermission,
  SkipFallbackAudit,
  type UserCaller,
} from '@rmm/access';
import { RateLimit } from '@rmm/rate-limits';
import { ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { LIMITS } from '../../limits.js';
import { PsaSyncDto, UpdatePsaSyncDto } from './dto/psa-sync.dto.js';
import { PsaSyncSettingsService } from './psa-sync-settings.service.js';

const ConnectionId = () => UuidParam('id', 'PSA connection');

/** @see docs/reference/provisioning.md#scheduled-sync */
@ApiTags('PSA')
@Controller('psa/connections/:id/sync')
@AllowScopes('partner', 'system')
@FullPartnerAccess()
export class PsaSyncController {
  constructor(private readonly settings: PsaSyncSettingsService) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({
    summary: 'Get the scheduled sync of a PSA connection',
    description: 'With the result of the last run and the time of the next one.',
  })
  @ApiOkResponse({ type: PsaSyncDto })
  get(@CurrentCaller() caller: UserCaller, @ConnectionId() id: string): Promise<PsaSyncDto> {
    return this.settings.get(caller, id);
  }

  @Put()
  @RequirePermission('organizations:write', 'sites:write')
  @RequireMfa()
  @ErrorCodes({ 400: ['psa_listing_unsupported'] })
  @ApiOperation({
    summary: 'Configure the scheduled sync of a PSA connection',
    description:
      'Enabling it runs it at once. It proposes or imports new companies, reports new names and deletes nothing.',
  })
  @ApiOkResponse({ type: PsaSyncDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @ConnectionId() id: string,
    @Body() dto: UpdatePsaSyncDto,
  ): Promise<PsaSyncDto> {
    return this.settings.update(caller, id, dto);
  }

  @Post('run')
  @HttpCode(202)
  @RequirePermission('organizations:write', 'sites:write')
  @RequireMfa()
  @RateLimit(LIMITS.psaPreview, 'user')
  @SkipFallbackAudit()
  @ErrorCodes({ 409: ['psa_sync_disabled'] })
  @ApiOperation({
    summary: 'Run the scheduled sync of a PSA connection now',
    description: 'In the background; `GET` of the sync shows the result.',
  })
  @ApiAcceptedResponse({ type: PsaSyncDto })
  runNow(@CurrentCaller() caller: UserCaller, @ConnectionId() id: string): Promise<PsaSyncDto> {
    return this.settings.runNow(caller, id);
  }
}
