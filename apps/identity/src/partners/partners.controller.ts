import { Body, Controller, Get, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequirePermission,
  SignedIn,
  SkipTenantStatus,
  type UserCaller,
} from '@rmm/access';
import { UuidParam } from '@rmm/service-kit';
import { noStore, type HttpResponse } from '../sessions/http.js';
import { CreatePartnerDto, ListPartnersDto, UpdateOwnPartnerDto } from './dto.js';
import { PartnersService } from './partners.service.js';

@ApiTags('Partners')
@Controller('orgs/partners')
export class PartnersController {
  constructor(private readonly partners: PartnersService) {}

  @Get('me')
  @RequirePermission('organizations:read')
  @AllowScopes('partner')
  @SkipTenantStatus()
  @ApiOperation({ summary: "The caller's partner" })
  own(@CurrentCaller() caller: UserCaller) {
    return this.partners.get(caller, caller.partnerId ?? '');
  }

  @Patch('me')
  @RequirePermission('organizations:write')
  @AllowScopes('partner')
  @FullPartnerAccess()
  @SkipTenantStatus()
  @ApiOperation({ summary: "Change the caller's partner" })
  updateOwn(@CurrentCaller() caller: UserCaller, @Body() dto: UpdateOwnPartnerDto) {
    return this.partners.updateOwn(caller, dto);
  }

  @Get()
  @SignedIn()
  @AllowScopes('system')
  @ApiOperation({ summary: 'All partners' })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListPartnersDto) {
    return this.partners.list(caller, query);
  }

  @Post()
  @SignedIn()
  @AllowScopes('system')
  @ApiOperation({ summary: 'Make a partner and invite its administrator' })
  create(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: CreatePartnerDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ) {
    noStore(response);
    return this.partners.create(caller, dto);
  }

  @Get(':id')
  @SignedIn()
  @AllowScopes('system')
  @ApiOperation({ summary: 'One partner' })
  get(@CurrentCaller() caller: UserCaller, @UuidParam('id', 'Partner') id: string) {
    return this.partners.get(caller, id);
  }
}
