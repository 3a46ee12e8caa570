import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type UserCaller } from '@rmm/access';
import { UuidParam } from '@rmm/validation';
import { ApiKeyUsageDto } from './dto/api-key-usage.dto.js';
import { UsageQueryDto } from './dto/usage-query.dto.js';
import { KeyUsageService } from './key-usage.service.js';

/** @see docs/reference/keys.md */
@ApiTags('API keys')
@Controller('api-keys')
export class KeyUsageController {
  constructor(private readonly usage: KeyUsageService) {}

  @Get(':id/usage')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'Get the daily usage of an API key' })
  @ApiOkResponse({ type: ApiKeyUsageDto })
  getUsage(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'API key') id: string,
    @Query() query: UsageQueryDto,
  ): Promise<ApiKeyUsageDto> {
    return this.usage.getDaily(caller, id, query);
  }
}
