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
import { type Paged, pagedOf, UuidParam } from '@rmm/service-kit';
import { noStore, type HttpResponse } from '../sessions/http.js';
import { CreatePartnerDto, ListPartnersDto, UpdateOwnPartnerDto, UpdatePartnerDto } from './dto.js';
import { PartnerChangesService } from './partner-changes.service.js';
import { CreatedPartnerDto, PartnerDto } from './partner.dto.js';
import { PartnersService } from './partners.service.js';

@ApiTags('Partners')
@Controller('orgs/partners')
export class PartnersController {
  constructor(
    private readonly partners: PartnersService,
    private readonly changes: PartnerChangesService,
  ) {}

  @Get('me')
  @RequirePermission('organizations:read')
  @AllowScopes('partner')
  @SkipTenantStatus()
  @ApiOperation({ summary: "The caller's partner" })
  @ApiOkResponse({ type: PartnerDto })
  own(@CurrentCaller() caller: UserCaller): Promise<PartnerDto> {
    return this.partners.get(caller, caller.partnerId ?? '');
  }

  @Patch('me')
  @RequirePermission('organizations:write')
  @AllowScopes('partner')
  @FullPartnerAccess()
  @SkipTenantStatus()
  @ApiOperation({ summary: "Change the caller's partner" })
  @ApiOkResponse({ type: PartnerDto })
  updateOwn(@CurrentCaller() caller: UserCaller, @Body() dto: UpdateOwnPartnerDto): Promise<PartnerDto> {
    return this.changes.update(caller, caller.partnerId ?? '', dto);
  }

  @Get()
  @SignedIn()
  @AllowScopes('system')
  @ApiOperation({ summary: 'All partners' })
  @ApiOkResponse({ type: pagedOf(PartnerDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListPartnersDto): Promise<Paged<PartnerDto>> {
    return this.partners.list(caller, query);
  }

  @Post()
  @SignedIn()
  @AllowScopes('system')
  @ApiOperation({ summary: 'Make a partner and invite its administrator' })
  @ApiCreatedResponse({ type: CreatedPartnerDto })
  create(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: CreatePartnerDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<CreatedPartnerDto> {
    noStore(response);
    return this.partners.create(caller, dto);
  }

  @Get(':id')
  @SignedIn()
  @AllowScopes('system')
  @ApiOperation({ summary: 'One partner' })
  @ApiOkResponse({ type: PartnerDto })
  get(@CurrentCaller() caller: UserCaller, @UuidParam('id', 'Partner') id: string): Promise<PartnerDto> {
    return this.partners.get(caller, id);
  }

  @Patch(':id')
  @SignedIn()
  @AllowScopes('system')
  @ApiOperation({ summary: 'Change a partner, its status and caps included' })
  @ApiOkResponse({ type: PartnerDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Partner') id: string,
    @Body() dto: UpdatePartnerDto,
  ): Promise<PartnerDto> {
    return this.changes.update(caller, id, dto);
  }
}
