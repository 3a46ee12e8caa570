import { Body, Controller, Get, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiExtraModels, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequirePermission,
  type Caller,
  type UserCaller,
} from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { PaginationDto, UuidParam, type Paged } from '@rmm/validation';
import { CreateOrganizationDto } from './dto/create-organization.dto.js';
import { ListOrganizationsDto } from './dto/list-organizations.dto.js';
import {
  OrganizationDto,
  OwnOrganizationDto,
  VISIBLE_ORGANIZATION,
  VISIBLE_ORGANIZATIONS,
} from './dto/organization.dto.js';
import { UpdateOrganizationDto } from './dto/update-organization.dto.js';
import { OrganizationsService } from './organizations.service.js';

type VisibleOrganization = OrganizationDto | OwnOrganizationDto;

@ApiTags('Organizations')
@ApiExtraModels(OrganizationDto, OwnOrganizationDto, PaginationDto)
@ErrorCodes({
  400: ['mfa_no_method_available'],
  409: ['mfa_policy_would_lock_out_users', 'organization_limit_reached', 'organization_slug_conflict'],
  403: ['mfa_required', 'scope_not_allowed'],
})
@Controller('orgs/organizations')
export class OrganizationsController {
  constructor(private readonly organizations: OrganizationsService) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({
    summary: 'List organizations',
    description: 'Newest first. Organization callers see id, name, slug, status and settings.security of their own.',
  })
  @ApiOkResponse({ schema: VISIBLE_ORGANIZATIONS })
  list(@CurrentCaller() caller: Caller, @Query() query: ListOrganizationsDto): Promise<Paged<VisibleOrganization>> {
    return this.organizations.list(caller, query);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'Get an organization' })
  @ApiOkResponse({ schema: VISIBLE_ORGANIZATION })
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
  @ApiOkResponse({ schema: VISIBLE_ORGANIZATION })
  update(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Organization') id: string,
    @Body() dto: UpdateOrganizationDto,
  ): Promise<VisibleOrganization> {
    return this.organizations.update(caller, id, dto);
  }
}
