import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequirePermission,
  type Caller,
  type UserCaller,
} from '@rmm/access';
import { Body, Controller, Get, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { pagedOf, UuidParam, type Paged } from '@rmm/service-kit';
import { CreateOrganizationDto } from './dto/create-organization.dto.js';
import { ListOrganizationsDto } from './dto/list-organizations.dto.js';
import { OrganizationDto, toOrganizationDto, type OwnOrganizationDto } from './dto/organization.dto.js';
import { UpdateOrganizationDto } from './dto/update-organization.dto.js';
import { OrganizationsService } from './organizations.service.js';

type Shown = OrganizationDto | OwnOrganizationDto;

@ApiTags('Organizations')
@Controller('orgs/organizations')
export class OrganizationsController {
  constructor(private readonly organizations: OrganizationsService) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOkResponse({ type: pagedOf(OrganizationDto) })
  async list(@CurrentCaller() caller: Caller, @Query() query: ListOrganizationsDto): Promise<Paged<Shown>> {
    const { data, pagination } = await this.organizations.list(caller, query);
    return { data: data.map((row) => toOrganizationDto(caller, row)), pagination };
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @ApiOkResponse({ type: OrganizationDto })
  async get(@CurrentCaller() caller: Caller, @UuidParam('id', 'Organization') id: string): Promise<Shown> {
    return toOrganizationDto(caller, await this.organizations.get(caller, id));
  }

  @Post()
  @RequirePermission('organizations:write')
  @AllowScopes('partner', 'system')
  @FullPartnerAccess()
  @ApiCreatedResponse({ type: OrganizationDto })
  async create(@CurrentCaller() caller: Caller, @Body() dto: CreateOrganizationDto): Promise<Shown> {
    return toOrganizationDto(caller, await this.organizations.create(caller, dto));
  }

  @Patch(':id')
  @RequirePermission('organizations:write')
  @ApiOkResponse({ type: OrganizationDto })
  async update(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Organization') id: string,
    @Body() dto: UpdateOrganizationDto,
  ): Promise<Shown> {
    return toOrganizationDto(caller, await this.organizations.update(caller, id, dto));
  }
}
