import { Body, Controller, Delete, Get, Header, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequireMfa,
  RequirePermission,
  type UserCaller,
} from '@rmm/access';
import { type Paged, pagedOf, UuidParam } from '@rmm/validation';
import { CreatePartnerKeyDto } from './dto/create-partner-key.dto.js';
import { CreatePartnerPrincipalDto } from './dto/create-partner-principal.dto.js';
import {
  CreatedPartnerKeyDto,
  PartnerPrincipalDataDto,
  PartnerPrincipalDto,
  RevokedPartnerKeyDto,
} from './dto/partner-principal.dto.js';
import { PartnerQueryDto } from './dto/partner-query.dto.js';
import { RotatePartnerKeyDto } from './dto/rotate-partner-key.dto.js';
import { UpdatePartnerPrincipalDto } from './dto/update-partner-principal.dto.js';
import { PartnerKeysService } from './partner-keys.service.js';
import { PartnerPrincipalsService } from './partner-principals.service.js';

const PrincipalId = () => UuidParam('id', 'Partner service principal');
const KeyId = () => UuidParam('keyId', 'Partner service principal key');

/** @see docs/reference/partner-interface.md */
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
  @ApiOperation({ summary: 'List partner principals with their keys, newest first' })
  @ApiOkResponse({ type: pagedOf(PartnerPrincipalDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: PartnerQueryDto): Promise<Paged<PartnerPrincipalDto>> {
    return this.principals.list(caller, query.partnerId, query);
  }

  @Post()
  @RequirePermission('organizations:write')
  @RequireMfa()
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Create a partner principal, read-only unless write scopes are given' })
  @ApiCreatedResponse({ type: PartnerPrincipalDataDto })
  async create(
    @CurrentCaller() caller: UserCaller,
    @Query() query: PartnerQueryDto,
    @Body() dto: CreatePartnerPrincipalDto,
  ): Promise<PartnerPrincipalDataDto> {
    return { data: await this.principals.create(caller, query.partnerId, dto) };
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'Get a partner principal with its keys' })
  @ApiOkResponse({ type: PartnerPrincipalDataDto })
  async get(@CurrentCaller() caller: UserCaller, @PrincipalId() id: string): Promise<PartnerPrincipalDataDto> {
    return { data: await this.principals.get(caller, id) };
  }

  @Patch(':id')
  @RequirePermission('organizations:write')
  @RequireMfa()
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Update, disable or enable a partner principal' })
  @ApiOkResponse({ type: PartnerPrincipalDataDto })
  async update(
    @CurrentCaller() caller: UserCaller,
    @PrincipalId() id: string,
    @Body() dto: UpdatePartnerPrincipalDto,
  ): Promise<PartnerPrincipalDataDto> {
    return { data: await this.principals.update(caller, id, dto) };
  }

  @Post(':id/keys')
  @RequirePermission('organizations:write')
  @RequireMfa()
  @FullPartnerAccess()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Issue a partner key; only this response contains the key' })
  @ApiCreatedResponse({ type: CreatedPartnerKeyDto })
  issueKey(
    @CurrentCaller() caller: UserCaller,
    @PrincipalId() id: string,
    @Body() dto: CreatePartnerKeyDto,
  ): Promise<CreatedPartnerKeyDto> {
    return this.keys.issue(caller, id, dto);
  }

  @Post(':id/keys/:keyId/rotate')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @FullPartnerAccess()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Rotate a partner key; only this response contains the new key' })
  @ApiBody({ type: RotatePartnerKeyDto, required: false })
  @ApiOkResponse({ type: CreatedPartnerKeyDto })
  rotateKey(
    @CurrentCaller() caller: UserCaller,
    @PrincipalId() id: string,
    @KeyId() keyId: string,
    @Body() dto: RotatePartnerKeyDto,
  ): Promise<CreatedPartnerKeyDto> {
    return this.keys.rotate(caller, id, keyId, dto);
  }

  @Delete(':id/keys/:keyId')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Revoke a partner key permanently' })
  @ApiOkResponse({ type: RevokedPartnerKeyDto })
  revokeKey(
    @CurrentCaller() caller: UserCaller,
    @PrincipalId() id: string,
    @KeyId() keyId: string,
  ): Promise<RevokedPartnerKeyDto> {
    return this.keys.revoke(caller, id, keyId);
  }
}
