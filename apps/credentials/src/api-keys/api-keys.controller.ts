import { Body, Controller, Delete, Get, Header, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, type UserCaller } from '@rmm/access';
import { pagedOf, UuidParam, type Paged } from '@rmm/service-kit';
import { ApiKeyRotationService } from './api-key-rotation.service.js';
import { ApiKeyUsageService } from './api-key-usage.service.js';
import { ApiKeysService } from './api-keys.service.js';
import { ApiKeyUsageDto } from './dto/api-key-usage.dto.js';
import { ApiKeyDto, CreatedApiKeyDto, RevokedApiKeyDto, RotatedApiKeyDto } from './dto/api-key.dto.js';
import { CreateApiKeyDto } from './dto/create-api-key.dto.js';
import { ListApiKeysDto } from './dto/list-api-keys.dto.js';
import { RotateApiKeyDto } from './dto/rotate-api-key.dto.js';
import { UpdateApiKeyDto } from './dto/update-api-key.dto.js';
import { UsageQueryDto } from './dto/usage-query.dto.js';

const ApiKeyId = () => UuidParam('id', 'API key');

/** @see SPEC.md 4.1, CONTRACT.md 4.1 */
@ApiTags('API keys')
@Controller('api-keys')
export class ApiKeysController {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly rotation: ApiKeyRotationService,
    private readonly usage: ApiKeyUsageService,
  ) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'API keys, newest first' })
  @ApiOkResponse({ type: pagedOf(ApiKeyDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListApiKeysDto): Promise<Paged<ApiKeyDto>> {
    return this.apiKeys.list(caller, query);
  }

  @Post()
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Make an API key; the answer shows it this once' })
  @ApiCreatedResponse({ type: CreatedApiKeyDto })
  create(@CurrentCaller() caller: UserCaller, @Body() dto: CreateApiKeyDto): Promise<CreatedApiKeyDto> {
    return this.apiKeys.create(caller, dto);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'One API key, without the key itself' })
  @ApiOkResponse({ type: ApiKeyDto })
  get(@CurrentCaller() caller: UserCaller, @ApiKeyId() id: string): Promise<ApiKeyDto> {
    return this.apiKeys.get(caller, id);
  }

  @Get(':id/usage')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'How often an API key was used, day by day' })
  @ApiOkResponse({ type: ApiKeyUsageDto })
  usageOf(
    @CurrentCaller() caller: UserCaller,
    @ApiKeyId() id: string,
    @Query() query: UsageQueryDto,
  ): Promise<ApiKeyUsageDto> {
    return this.usage.of(caller, id, query);
  }

  @Patch(':id')
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ApiOperation({ summary: 'Change an active API key' })
  @ApiOkResponse({ type: ApiKeyDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @ApiKeyId() id: string,
    @Body() dto: UpdateApiKeyDto,
  ): Promise<ApiKeyDto> {
    return this.apiKeys.update(caller, id, dto);
  }

  @Delete(':id')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ApiOperation({ summary: 'Revoke an API key, for good and everywhere at once' })
  @ApiOkResponse({ type: RevokedApiKeyDto })
  revoke(@CurrentCaller() caller: UserCaller, @ApiKeyId() id: string): Promise<RevokedApiKeyDto> {
    return this.apiKeys.revoke(caller, id);
  }

  @Post(':id/rotate')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Replace the key of a record; the answer shows the new one this once' })
  @ApiOkResponse({ type: RotatedApiKeyDto })
  rotate(
    @CurrentCaller() caller: UserCaller,
    @ApiKeyId() id: string,
    @Body() dto: RotateApiKeyDto,
  ): Promise<RotatedApiKeyDto> {
    return this.rotation.rotate(caller, id, dto);
  }
}
