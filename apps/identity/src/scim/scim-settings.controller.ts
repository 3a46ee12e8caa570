import { Body, Controller, Delete, Get, Post, Put, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, type UserCaller } from '@rmm/access';
import { DoneDto, ErrorCodes } from '@rmm/service-kit';
import { pagedOf, PageQueryDto, UuidParam, type Paged } from '@rmm/validation';
import { setNoStore, type HttpResponse } from '../sessions/http-request.js';
import {
  CreatedScimTokenResponseDto,
  CreateScimTokenDto,
  ScimSettingsResponseDto,
  ScimTokenDto,
  UpdateScimSettingsDto,
} from './dto/scim-settings.dto.js';
import { ScimSettingsService } from './scim-settings.service.js';
import { ScimTokensService } from './scim-tokens.service.js';

const ProviderId = () => UuidParam('id', 'SSO provider');

/** SCIM of an organization's identity provider, for administrators. @see docs/reference/scim.md */
@ApiTags('SCIM')
@ErrorCodes({
  400: ['scim_organization_only'],
  403: ['site_access_denied'],
  409: ['too_many_scim_tokens'],
})
@Controller('sso/providers/:id/scim')
export class ScimSettingsController {
  constructor(
    private readonly settings: ScimSettingsService,
    private readonly tokens: ScimTokensService,
  ) {}

  @Get()
  @RequirePermission('sso:admin')
  @ApiOperation({ summary: 'Get the SCIM address of an identity provider and how its groups give roles' })
  @ApiOkResponse({ type: ScimSettingsResponseDto })
  async get(@CurrentCaller() caller: UserCaller, @ProviderId() id: string): Promise<ScimSettingsResponseDto> {
    return { data: await this.settings.get(caller, id) };
  }

  @Put()
  @RequirePermission('sso:admin')
  @RequireMfa()
  @ApiOperation({ summary: 'Replace how the groups of an identity provider give roles' })
  @ApiOkResponse({ type: ScimSettingsResponseDto })
  async update(
    @CurrentCaller() caller: UserCaller,
    @ProviderId() id: string,
    @Body() dto: UpdateScimSettingsDto,
  ): Promise<ScimSettingsResponseDto> {
    return { data: await this.settings.update(caller, id, dto) };
  }

  @Get('tokens')
  @RequirePermission('sso:admin')
  @ApiOperation({ summary: 'List the SCIM tokens of an identity provider' })
  @ApiOkResponse({ type: pagedOf(ScimTokenDto) })
  listTokens(
    @CurrentCaller() caller: UserCaller,
    @ProviderId() id: string,
    @Query() query: PageQueryDto,
  ): Promise<Paged<ScimTokenDto>> {
    return this.tokens.list(caller, id, query);
  }

  @Post('tokens')
  @RequirePermission('sso:admin')
  @RequireMfa()
  @ApiOperation({ summary: 'Create a SCIM token; it is shown once' })
  @ApiCreatedResponse({ type: CreatedScimTokenResponseDto })
  async createToken(
    @CurrentCaller() caller: UserCaller,
    @ProviderId() id: string,
    @Body() dto: CreateScimTokenDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<CreatedScimTokenResponseDto> {
    setNoStore(response);
    return { data: await this.tokens.create(caller, id, dto) };
  }

  @Delete('tokens/:tokenId')
  @RequirePermission('sso:admin')
  @RequireMfa()
  @ApiOperation({ summary: 'Revoke a SCIM token at once' })
  @ApiOkResponse({ type: DoneDto })
  async removeToken(
    @CurrentCaller() caller: UserCaller,
    @ProviderId() id: string,
    @UuidParam('tokenId', 'SCIM token') tokenId: string,
  ): Promise<DoneDto> {
    await this.tokens.remove(caller, id, tokenId);
    return { success: true };
  }
}
