import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, SignedIn, type UserCaller } from '@rmm/access';
import { DoneDto, ErrorCodes } from '@rmm/service-kit';
import { pagedOf, UuidParam, type Paged } from '@rmm/validation';
import {
  CreateSsoProviderDto,
  ListSsoProvidersDto,
  SetSsoStatusDto,
  SsoPresetsDto,
  SsoProviderListItemDto,
  SsoProviderResponseDto,
  SsoTestDto,
  UpdateSsoProviderDto,
} from './dto/sso-provider.dto.js';
import { SSO_PRESETS } from './sso-presets.constants.js';
import { SsoProviderTestsService } from './sso-provider-tests.service.js';
import { SsoProvidersService } from './sso-providers.service.js';

const ProviderId = () => UuidParam('id', 'SSO provider');

/** @see docs/reference/sso.md */
@ApiTags('Single sign-on')
@ErrorCodes({
  400: [
    'default_role_required',
    'invalid_default_role',
    'oidc_discovery_failed',
    'oidc_issuer_required',
    'organization_context_required',
    'provider_incomplete',
    'saml_not_supported',
  ],
  403: ['context_required', 'full_partner_access_required', 'organization_access_denied', 'partner_access_denied'],
  409: ['too_many_sso_providers'],
})
@Controller('sso')
export class SsoProvidersController {
  constructor(
    private readonly providers: SsoProvidersService,
    private readonly tests: SsoProviderTestsService,
  ) {}

  @Get('presets')
  @SignedIn()
  @ApiOperation({ summary: 'List settings of well-known identity providers' })
  @ApiOkResponse({ type: SsoPresetsDto })
  presets(): SsoPresetsDto {
    return { data: SSO_PRESETS };
  }

  @Get('providers')
  @SignedIn()
  @ApiOperation({ summary: 'List the identity providers of an organization or of the partner' })
  @ApiOkResponse({ type: pagedOf(SsoProviderListItemDto) })
  list(
    @CurrentCaller() caller: UserCaller,
    @Query() query: ListSsoProvidersDto,
  ): Promise<Paged<SsoProviderListItemDto>> {
    return this.providers.list(caller, query);
  }

  @Get('providers/:id')
  @SignedIn()
  @ApiOperation({ summary: 'Get the settings of an identity provider' })
  @ApiOkResponse({ type: SsoProviderResponseDto })
  async get(@CurrentCaller() caller: UserCaller, @ProviderId() id: string): Promise<SsoProviderResponseDto> {
    return { data: await this.providers.get(caller, id) };
  }

  @Post('providers')
  @RequirePermission('sso:admin')
  @RequireMfa()
  @ApiOperation({ summary: 'Create an identity provider; its endpoints are discovered' })
  @ApiCreatedResponse({ type: SsoProviderResponseDto })
  async create(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: CreateSsoProviderDto,
  ): Promise<SsoProviderResponseDto> {
    return { data: await this.providers.create(caller, dto) };
  }

  @Patch('providers/:id')
  @RequirePermission('sso:admin')
  @RequireMfa()
  @ApiOperation({ summary: 'Update an identity provider; logins in progress end' })
  @ApiOkResponse({ type: SsoProviderResponseDto })
  async update(
    @CurrentCaller() caller: UserCaller,
    @ProviderId() id: string,
    @Body() dto: UpdateSsoProviderDto,
  ): Promise<SsoProviderResponseDto> {
    return { data: await this.providers.update(caller, id, dto) };
  }

  @Delete('providers/:id')
  @RequirePermission('sso:admin')
  @RequireMfa()
  @ApiOperation({ summary: 'Delete an identity provider with its linked identities' })
  @ApiOkResponse({ type: DoneDto })
  async remove(@CurrentCaller() caller: UserCaller, @ProviderId() id: string): Promise<DoneDto> {
    await this.providers.remove(caller, id);
    return { success: true };
  }

  @Post('providers/:id/status')
  @RequirePermission('sso:admin')
  @RequireMfa()
  @HttpCode(200)
  @ApiOperation({ summary: 'Activate, deactivate or test an identity provider' })
  @ApiOkResponse({ type: SsoProviderResponseDto })
  async setStatus(
    @CurrentCaller() caller: UserCaller,
    @ProviderId() id: string,
    @Body() { status }: SetSsoStatusDto,
  ): Promise<SsoProviderResponseDto> {
    return { data: await this.providers.setStatus(caller, id, status) };
  }

  @Post('providers/:id/test')
  @RequirePermission('sso:admin')
  @RequireMfa()
  @HttpCode(200)
  @ApiOperation({ summary: 'Run discovery for an identity provider without saving its result' })
  @ApiOkResponse({ type: SsoTestDto })
  test(@CurrentCaller() caller: UserCaller, @ProviderId() id: string): Promise<SsoTestDto> {
    return this.tests.test(caller, id);
  }
}
