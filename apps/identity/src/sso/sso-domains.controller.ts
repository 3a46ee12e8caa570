import { Body, Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, SignedIn, type UserCaller } from '@rmm/access';
import { DoneDto, ErrorCodes } from '@rmm/service-kit';
import { pagedOf, UuidParam, type Paged } from '@rmm/validation';
import { CreateSsoDomainDto, ListSsoDomainsDto, SsoDomainDto, SsoDomainResponseDto } from './dto/sso-domain.dto.js';
import { SsoDomainsService } from './sso-domains.service.js';

/** @see docs/reference/sso.md */
@ApiTags('Single sign-on')
@ErrorCodes({
  400: ['domain_not_verified', 'organization_context_required'],
  403: ['context_required', 'organization_access_denied'],
  409: ['domain_taken', 'too_many_sso_domains'],
})
@Controller('sso/domains')
export class SsoDomainsController {
  constructor(private readonly domains: SsoDomainsService) {}

  @Get()
  @SignedIn()
  @ApiOperation({ summary: 'List the e-mail domains of an organization' })
  @ApiOkResponse({ type: pagedOf(SsoDomainDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListSsoDomainsDto): Promise<Paged<SsoDomainDto>> {
    return this.domains.list(caller, query);
  }

  @Post()
  @RequirePermission('sso:admin')
  @RequireMfa()
  @ApiOperation({ summary: 'Claim an e-mail domain; its TXT record proves it' })
  @ApiCreatedResponse({ type: SsoDomainResponseDto })
  async create(@CurrentCaller() caller: UserCaller, @Body() dto: CreateSsoDomainDto): Promise<SsoDomainResponseDto> {
    return { data: await this.domains.create(caller, dto) };
  }

  @Post(':id/verify')
  @RequirePermission('sso:admin')
  @RequireMfa()
  @HttpCode(200)
  @ApiOperation({ summary: 'Look the TXT record of a domain up' })
  @ApiOkResponse({ type: SsoDomainResponseDto })
  async verify(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'SSO domain') id: string,
  ): Promise<SsoDomainResponseDto> {
    return { data: await this.domains.verify(caller, id) };
  }

  @Delete(':id')
  @RequirePermission('sso:admin')
  @RequireMfa()
  @ApiOperation({ summary: 'Give a domain up' })
  @ApiOkResponse({ type: DoneDto })
  async remove(@CurrentCaller() caller: UserCaller, @UuidParam('id', 'SSO domain') id: string): Promise<DoneDto> {
    await this.domains.remove(caller, id);
    return { success: true };
  }
}
