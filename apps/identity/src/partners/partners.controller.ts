import { Body, Controller, Get, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequirePermission,
  SignedIn,
  SkipTenantStatus,
  type UserCaller,
} from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { type Paged, pagedOf, UuidParam } from '@rmm/validation';
import { setNoStore, type HttpResponse } from '../sessions/http-request.js';
import { CreatePartnerDto } from './dto/create-partner.dto.js';
import { ListPartnersDto } from './dto/list-partners.dto.js';
import { CreatedPartnerDto, PartnerDto } from './dto/partner.dto.js';
import { UpdateOwnPartnerDto, UpdatePartnerDto } from './dto/update-partner.dto.js';
import { PartnersService } from './partners.service.js';

@ApiTags('Partners')
@ErrorCodes({
  400: ['mfa_no_method_available'],
  409: ['conflict', 'ip_allowlist_would_lock_out_caller', 'mfa_policy_would_lock_out_users', 'user_already_exists'],
  403: ['mfa_required'],
})
@Controller('orgs/partners')
export class PartnersController {
  constructor(private readonly partners: PartnersService) {}

  @Get('me')
  @RequirePermission('organizations:read')
  @AllowScopes('partner')
  @SkipTenantStatus()
  @ApiOperation({ summary: 'Get your partner' })
  @ApiOkResponse({ type: PartnerDto })
  getOwn(@CurrentCaller() caller: UserCaller): Promise<PartnerDto> {
    return this.partners.get(caller, caller.partnerId ?? '');
  }

  @Patch('me')
  @RequirePermission('organizations:write')
  @AllowScopes('partner')
  @FullPartnerAccess()
  @SkipTenantStatus()
  @ApiOperation({ summary: 'Update your partner' })
  @ApiOkResponse({ type: PartnerDto })
  updateOwn(@CurrentCaller() caller: UserCaller, @Body() dto: UpdateOwnPartnerDto): Promise<PartnerDto> {
    return this.partners.update(caller, caller.partnerId ?? '', dto);
  }

  @Get()
  @SignedIn()
  @AllowScopes('system')
  @ApiOperation({ summary: 'List all partners' })
  @ApiOkResponse({ type: pagedOf(PartnerDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListPartnersDto): Promise<Paged<PartnerDto>> {
    return this.partners.list(caller, query);
  }

  @Post()
  @SignedIn()
  @AllowScopes('system')
  @ApiOperation({ summary: 'Create a partner and invite its administrator' })
  @ApiCreatedResponse({ type: CreatedPartnerDto })
  create(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: CreatePartnerDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<CreatedPartnerDto> {
    setNoStore(response);
    return this.partners.create(caller, dto);
  }

  @Get(':id')
  @SignedIn()
  @AllowScopes('system')
  @ApiOperation({ summary: 'Get a partner' })
  @ApiOkResponse({ type: PartnerDto })
  get(@CurrentCaller() caller: UserCaller, @UuidParam('id', 'Partner') id: string): Promise<PartnerDto> {
    return this.partners.get(caller, id);
  }

  @Patch(':id')
  @SignedIn()
  @AllowScopes('system')
  @ApiOperation({ summary: 'Update a partner, including its status and caps' })
  @ApiOkResponse({ type: PartnerDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Partner') id: string,
    @Body() dto: UpdatePartnerDto,
  ): Promise<PartnerDto> {
    return this.partners.update(caller, id, dto);
  }
}
