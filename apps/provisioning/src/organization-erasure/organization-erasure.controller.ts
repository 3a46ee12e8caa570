import { Body, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AllowScopes, CurrentCaller, FullPartnerAccess, RequireMfa, RequirePermission, type Caller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { ErasureDto } from './dto/erasure.dto.js';
import { RequestErasureDto } from './dto/request-erasure.dto.js';
import { OrganizationErasureService } from './organization-erasure.service.js';

@ApiTags('Organizations')
@ErrorCodes({ 403: ['scope_not_allowed'] })
@Controller('orgs/organizations/:id/erasure')
export class OrganizationErasureController {
  constructor(private readonly erasures: OrganizationErasureService) {}

  @Get()
  @RequirePermission('organizations:read')
  @AllowScopes('partner', 'system')
  @ApiOperation({
    summary: 'Get the erasure of a deleted organization',
    description: 'States what each service has erased. 404 for an organization that is not deleted.',
  })
  @ApiOkResponse({ type: ErasureDto })
  get(@CurrentCaller() caller: Caller, @UuidParam('id', 'Organization') id: string): Promise<ErasureDto> {
    return this.erasures.get(caller, id);
  }

  @Post()
  @HttpCode(202)
  @RequirePermission('organizations:delete')
  @AllowScopes('partner', 'system')
  @FullPartnerAccess()
  @RequireMfa()
  @ErrorCodes({ 403: ['mfa_required'] })
  @ApiOperation({
    summary: 'Erase a deleted organization now',
    description:
      'Begins the erasure without waiting for the 30 days during which the organization can be restored. Cannot be undone. Needs the slug as confirmation; 404 for an organization that is not deleted.',
  })
  @ApiAcceptedResponse({ type: ErasureDto })
  request(
    @CurrentCaller() caller: Caller,
    @UuidParam('id', 'Organization') id: string,
    @Body() dto: RequestErasureDto,
  ): Promise<ErasureDto> {
    return this.erasures.request(caller, id, dto);
  }
}
