import { Body, Controller, Delete, Get, Header, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequireMfa,
  RequirePermission,
  type UserCaller,
} from '@rmm/access';
import type { Page } from '@rmm/contracts';
import { UuidParam } from '@rmm/service-kit';
import { CreatePartnerKeyDto } from './dto/create-partner-key.dto.js';
import { CreatePartnerPrincipalDto } from './dto/create-partner-principal.dto.js';
import type { CreatedPartnerKeyDto, PartnerPrincipalDto } from './dto/partner-principal.dto.js';
import { PartnerQueryDto } from './dto/partner-query.dto.js';
import { PartnerKeysService } from './partner-keys.service.js';
import { PartnerPrincipalsService } from './partner-principals.service.js';

const PrincipalId = () => UuidParam('id', 'Partner service principal');

/** @see CONTRACT.md 4.4.5 */
@ApiTags('Partner service principals')
@Controller('partner-service-principals')
@AllowScopes('partner', 'system')
export class PartnerPrincipalsController {
  constructor(
    private readonly principals: PartnerPrincipalsService,
    private readonly keys: PartnerKeysService,
  ) {}

  @Get()
  @RequirePermission('organizations:read')
  list(@CurrentCaller() caller: UserCaller, @Query() query: PartnerQueryDto): Promise<Page<PartnerPrincipalDto>> {
    return this.principals.list(caller, query.partnerId, query);
  }

  @Post()
  @RequirePermission('organizations:write')
  @RequireMfa()
  @FullPartnerAccess()
  async create(
    @CurrentCaller() caller: UserCaller,
    @Query() query: PartnerQueryDto,
    @Body() dto: CreatePartnerPrincipalDto,
  ): Promise<{ data: PartnerPrincipalDto }> {
    return { data: await this.principals.create(caller, query.partnerId, dto) };
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  async get(@CurrentCaller() caller: UserCaller, @PrincipalId() id: string): Promise<{ data: PartnerPrincipalDto }> {
    return { data: await this.principals.get(caller, id) };
  }

  @Post(':id/keys')
  @RequirePermission('organizations:write')
  @RequireMfa()
  @FullPartnerAccess()
  @Header('Cache-Control', 'no-store')
  issueKey(
    @CurrentCaller() caller: UserCaller,
    @PrincipalId() id: string,
    @Body() dto: CreatePartnerKeyDto,
  ): Promise<CreatedPartnerKeyDto> {
    return this.keys.issue(caller, id, dto);
  }

  @Delete(':id/keys/:keyId')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @FullPartnerAccess()
  revokeKey(
    @CurrentCaller() caller: UserCaller,
    @PrincipalId() id: string,
    @UuidParam('keyId', 'Partner service principal key') keyId: string,
  ): Promise<{ success: true; alreadyRevoked: boolean }> {
    return this.keys.revoke(caller, id, keyId);
  }
}
