import { Body, Controller, Get, Header, HttpCode, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, type UserCaller } from '@rmm/access';
import { pagedOf, UuidParam, type Paged } from '@rmm/service-kit';
import { ApiKeyDto } from '../api-keys/dto/api-key.dto.js';
import { CreateServicePrincipalDto } from './dto/create-service-principal.dto.js';
import { ListServicePrincipalsDto } from './dto/list-service-principals.dto.js';
import { MigrateKeyDto } from './dto/migrate-key.dto.js';
import { CreatedServicePrincipalDto, PrincipalKeyDto, ServicePrincipalDto } from './dto/service-principal.dto.js';
import { KeyMigrationService } from './key-migration.service.js';
import { ServicePrincipalsService } from './service-principals.service.js';

const PrincipalId = () => UuidParam('id', 'Service principal');

/** @see SPEC.md 4.3, CONTRACT.md 4.3 */
@ApiTags('Service principals')
@Controller('service-principals')
export class ServicePrincipalsController {
  constructor(
    private readonly principals: ServicePrincipalsService,
    private readonly migration: KeyMigrationService,
  ) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'Service principals, newest first' })
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
  @ApiOperation({ summary: 'Make a service principal and its key; the answer shows the key this once' })
  @ApiCreatedResponse({ type: CreatedServicePrincipalDto })
  create(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: CreateServicePrincipalDto,
  ): Promise<CreatedServicePrincipalDto> {
    return this.principals.create(caller, dto);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'One service principal' })
  @ApiOkResponse({ type: ServicePrincipalDto })
  get(@CurrentCaller() caller: UserCaller, @PrincipalId() id: string): Promise<ServicePrincipalDto> {
    return this.principals.get(caller, id);
  }

  @Post(':id/rotate')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Give a principal a new key in the place of the old one' })
  @ApiOkResponse({ type: PrincipalKeyDto })
  rotate(@CurrentCaller() caller: UserCaller, @PrincipalId() id: string): Promise<PrincipalKeyDto> {
    return this.principals.rotate(caller, id);
  }

  @Post(':id/disable')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ApiOperation({ summary: 'Disable a principal and revoke its keys, for good' })
  @ApiOkResponse({ type: ServicePrincipalDto })
  disable(@CurrentCaller() caller: UserCaller, @PrincipalId() id: string): Promise<ServicePrincipalDto> {
    return this.principals.disable(caller, id);
  }

  @Post(':id/migrate-key')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ApiOperation({ summary: 'Hand an API key over to a principal' })
  @ApiOkResponse({ type: ApiKeyDto })
  migrateKey(
    @CurrentCaller() caller: UserCaller,
    @PrincipalId() id: string,
    @Body() dto: MigrateKeyDto,
  ): Promise<ApiKeyDto> {
    return this.migration.migrate(caller, id, dto.keyId);
  }
}
