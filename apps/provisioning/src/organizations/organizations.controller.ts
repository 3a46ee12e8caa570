import { Body, Controller, Get, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequirePermission,
  type Caller,
  type UserCaller,
} from '@rmm/access';
import { pagedOf, UuidParam, type Paged } from '@rmm/validation';
import { CreateOrganizationDto } from './dto/create-organization.dto.js';
import { ListOrganizationsDto } from './dto/list-organizations.dto.js';
import { OrganizationDto, type OwnOrganizationDto } from './dto/organization.dto.js';
import { UpdateOrganizationDto } from './dto/update-organization.dto.js';
import { OrganizationsService } from './organizations.service.js';

type VisibleOrganization = OrganizationDto | OwnOrganizationDto;

@ApiTags('Organizations')
@Controller('orgs/organizations')
export class OrganizationsController {
  constructor(private readonly organizations: OrganizationsService) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({
    summary: 'List organizations',
    description: 'Newest first. Organization callers see id, name, slug, status and settings.security of their own.',
  })
  @ApiOkResponse({ type: pagedOf(OrganizationDto) })
  list(@CurrentCaller() caller: Caller, @Query() query: ListOrganizationsDto): Promise<Paged<VisibleOrganization>> {
    return this.organizations.list(caller, query);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'Get an organization' })
  @ApiOkResponse({ type: OrganizationDto })
  get(@CurrentCaller() caller: Caller, @UuidParam('id', 'Organization') id: string): Promise<VisibleOrganization> {
    return this.organizations.get(caller, id);
  }

  @Post()
  @RequirePermission('organizations:write')
  @AllowScopes('partner', 'system')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Create an organization' })
  @ApiCreatedResponse({ type: OrganizationDto })
  create(@CurrentCaller() caller: Caller, @Body() dto: CreateOrganizationDto): Promise<VisibleOrganization> {
    return this.organizations.create(caller, dto);
  }

  @Patch(':id')
  @RequirePermission('organizations:write')
  @ApiOperation({
    summary: 'Update an organization',
    description: 'Absent fields stay as they are. Organization callers may change settings only.',
  })
  @ApiOkResponse({ type: OrganizationDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Organization') id: string,
    @Body() dto: UpdateOrganizationDto,
  ): Promise<VisibleOrganization> {
    return this.organizations.update(caller, id, dto);
  }
}
