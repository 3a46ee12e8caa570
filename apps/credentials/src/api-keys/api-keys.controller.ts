import { Body, Controller, Delete, Get, Header, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, type UserCaller } from '@rmm/access';
import type { Page } from '@rmm/contracts';
import { UuidParam } from '@rmm/service-kit';
import { ApiKeysService, type RevokedApiKeyDto } from './api-keys.service.js';
import type { ApiKeyDto, CreatedApiKeyDto } from './dto/api-key.dto.js';
import { CreateApiKeyDto } from './dto/create-api-key.dto.js';
import { ListApiKeysDto } from './dto/list-api-keys.dto.js';

const ApiKeyId = () => UuidParam('id', 'API key');

/** @see SPEC.md 4.1, CONTRACT.md 4.1 */
@ApiTags('API keys')
@Controller('api-keys')
export class ApiKeysController {
  constructor(private readonly apiKeys: ApiKeysService) {}

  @Get()
  @RequirePermission('organizations:read')
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListApiKeysDto): Promise<Page<ApiKeyDto>> {
    return this.apiKeys.list(caller, query);
  }

  @Post()
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Header('Cache-Control', 'no-store')
  create(@CurrentCaller() caller: UserCaller, @Body() dto: CreateApiKeyDto): Promise<CreatedApiKeyDto> {
    return this.apiKeys.create(caller, dto);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  get(@CurrentCaller() caller: UserCaller, @ApiKeyId() id: string): Promise<ApiKeyDto> {
    return this.apiKeys.get(caller, id);
  }

  @Delete(':id')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  revoke(@CurrentCaller() caller: UserCaller, @ApiKeyId() id: string): Promise<RevokedApiKeyDto> {
    return this.apiKeys.revoke(caller, id);
  }
}
