import { Body, Controller, Get, Header, HttpCode, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, type UserCaller } from '@rmm/access';
import { pagedOf, UuidParam, type Paged } from '@rmm/validation';
import { ApiKeyDto } from '../api-keys/dto/api-key.dto.js';
import { CreateServicePrincipalDto } from './dto/create-service-principal.dto.js';
import { ListServicePrincipalsDto } from './dto/list-service-principals.dto.js';
import { MigrateKeyDto } from './dto/migrate-key.dto.js';
import { RotateServicePrincipalDto } from './dto/rotate-service-principal.dto.js';
import { CreatedServicePrincipalDto, PrincipalKeyDto, ServicePrincipalDto } from './dto/service-principal.dto.js';
import { ServicePrincipalsService } from './service-principals.service.js';

const PrincipalId = () => UuidParam('id', 'Service principal');

/** @see docs/reference/keys.md */
@ApiTags('Service principals')
@Controller('service-principals')
export class ServicePrincipalsController {
  constructor(private readonly principals: ServicePrincipalsService) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'List service principals, newest first' })
  @ApiOkResponse({ type: pagedOf(ServicePrincipalDto) })
  list(
    @CurrentCaller() caller: UserCaller,
    @Query() query: ListServicePrincipalsDto,
  ): Promise<Paged<ServicePrincipalDto>> {
    return this.principals.list(caller, query);
  }

  @Post()
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Create a service principal and its key; only this response contains the key' })
  @ApiCreatedResponse({ type: CreatedServicePrincipalDto })
  create(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: CreateServicePrincipalDto,
  ): Promise<CreatedServicePrincipalDto> {
    return this.principals.create(caller, dto);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'Get a service principal' })
  @ApiOkResponse({ type: ServicePrincipalDto })
  get(@CurrentCaller() caller: UserCaller, @PrincipalId() id: string): Promise<ServicePrincipalDto> {
    return this.principals.get(caller, id);
  }

  @Post(':id/rotate')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Rotate the key of a service principal; only this response contains the new key' })
  @ApiBody({ type: RotateServicePrincipalDto, required: false })
  @ApiOkResponse({ type: PrincipalKeyDto })
  rotate(
    @CurrentCaller() caller: UserCaller,
    @PrincipalId() id: string,
    @Body() dto: RotateServicePrincipalDto,
  ): Promise<PrincipalKeyDto> {
    return this.principals.rotate(caller, id, dto);
  }

  @Post(':id/disable')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ApiOperation({ summary: 'Disable a service principal permanently and revoke its keys' })
  @ApiOkResponse({ type: ServicePrincipalDto })
  disable(@CurrentCaller() caller: UserCaller, @PrincipalId() id: string): Promise<ServicePrincipalDto> {
    return this.principals.disable(caller, id);
  }

  @Post(':id/migrate-key')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ApiOperation({ summary: 'Make a service principal the owner of an API key' })
  @ApiOkResponse({ type: ApiKeyDto })
  migrateKey(
    @CurrentCaller() caller: UserCaller,
    @PrincipalId() id: string,
    @Body() dto: MigrateKeyDto,
  ): Promise<ApiKeyDto> {
    return this.principals.migrateKey(caller, id, dto.keyId);
  }
}
