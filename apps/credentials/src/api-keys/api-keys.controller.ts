import { Body, Controller, Delete, Get, Header, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, type UserCaller } from '@rmm/access';
import { EntityTagged, ErrorCodes } from '@rmm/service-kit';
import { pagedOf, UuidParam, type Paged } from '@rmm/validation';
import { ApiKeyLifecycleService } from './api-key-lifecycle.service.js';
import { ApiKeysService } from './api-keys.service.js';
import { ApiKeyDto, CreateApiKeyDto, CreatedApiKeyDto } from './dto/api-key.dto.js';
import { ListApiKeysDto } from './dto/list-api-keys.dto.js';
import { RevokedApiKeyDto } from './dto/revoked-api-key.dto.js';
import { RotateApiKeyDto, RotatedApiKeyDto } from './dto/rotate-api-key.dto.js';
import { UpdateApiKeyDto } from './dto/update-api-key.dto.js';

const ApiKeyId = () => UuidParam('id', 'API key');

const ApiKeyTags = () => EntityTagged<ApiKeyDto>('lastUsedAt', 'previousKeyValidUntil', 'usageCount');

/** @see docs/reference/keys.md */
@ApiTags('API keys')
@ErrorCodes({
  400: ['api_key_already_revoked', 'api_key_not_active', 'unsupported_scope', 'wildcard_scope_unsupported'],
  403: ['site_restricted'],
  409: ['key_limit_reached', 'service_principal_key'],
})
@Controller('api-keys')
export class ApiKeysController {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly lifecycle: ApiKeyLifecycleService,
  ) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'List API keys, newest first' })
  @ApiOkResponse({ type: pagedOf(ApiKeyDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListApiKeysDto): Promise<Paged<ApiKeyDto>> {
    return this.apiKeys.list(caller, query);
  }

  @Post()
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Create an API key; only this response contains the key' })
  @ApiCreatedResponse({ type: CreatedApiKeyDto })
  create(@CurrentCaller() caller: UserCaller, @Body() dto: CreateApiKeyDto): Promise<CreatedApiKeyDto> {
    return this.apiKeys.create(caller, dto);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @ApiKeyTags()
  @ApiOperation({ summary: 'Get an API key, without the key itself' })
  @ApiOkResponse({ type: ApiKeyDto })
  get(@CurrentCaller() caller: UserCaller, @ApiKeyId() id: string): Promise<ApiKeyDto> {
    return this.apiKeys.get(caller, id);
  }

  @Patch(':id')
  @RequirePermission('organizations:write')
  @ApiKeyTags()
  @RequireMfa()
  @ApiOperation({ summary: 'Update an active API key' })
  @ApiOkResponse({ type: ApiKeyDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @ApiKeyId() id: string,
    @Body() dto: UpdateApiKeyDto,
  ): Promise<ApiKeyDto> {
    return this.lifecycle.update(caller, id, dto);
  }

  @Delete(':id')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @ApiKeyTags()
  @RequireMfa()
  @ApiOperation({ summary: 'Revoke an API key permanently' })
  @ApiOkResponse({ type: RevokedApiKeyDto })
  revoke(@CurrentCaller() caller: UserCaller, @ApiKeyId() id: string): Promise<RevokedApiKeyDto> {
    return this.lifecycle.revoke(caller, id);
  }

  @Post(':id/rotate')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Rotate an API key; only this response contains the new key' })
  @ApiOkResponse({ type: RotatedApiKeyDto })
  rotate(
    @CurrentCaller() caller: UserCaller,
    @ApiKeyId() id: string,
    @Body() dto: RotateApiKeyDto,
  ): Promise<RotatedApiKeyDto> {
    return this.lifecycle.rotate(caller, id, dto);
  }
}
