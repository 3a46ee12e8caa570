import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiExtraModels, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequirePermission,
  type Caller,
  type UserCaller,
} from '@rmm/access';
import { DoneDto, EntityTagged, ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { SortedPaginationDto, type SortedPage } from '../lists/dto/sorted-page.dto.js';
import { CreateOrganizationDto } from './dto/create-organization.dto.js';
import { ListOrganizationsDto } from './dto/list-organizations.dto.js';
import {
  OrganizationDto,
  OwnOrganizationDto,
  VISIBLE_ORGANIZATION,
  VISIBLE_ORGANIZATIONS,
} from './dto/organization.dto.js';
import { UpdateOrganizationDto } from './dto/update-organization.dto.js';
import { OrganizationDeletionService } from './organization-deletion.service.js';
import { OrganizationsService } from './organizations.service.js';

type VisibleOrganization = OrganizationDto | OwnOrganizationDto;

const OrganizationTags = () => EntityTagged<OrganizationDto>('deviceCount');

@ApiTags('Organizations')
@ApiExtraModels(OrganizationDto, OwnOrganizationDto, SortedPaginationDto)
@ErrorCodes({
  400: ['mfa_no_method_available'],
  409: ['mfa_policy_would_lock_out_users', 'organization_limit_reached', 'organization_slug_conflict'],
  403: ['mfa_required', 'scope_not_allowed'],
})
@Controller('orgs/organizations')
export class OrganizationsController {
  constructor(
    private readonly organizations: OrganizationsService,
    private readonly deletion: OrganizationDeletionService,
  ) {}

  @Get()
  @RequirePermission('organizations:read')
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOperation({
    summary: 'List organizations',
    description:
      'Newest first by default. Organization callers see id, name, slug, status and settings.security of their own.',
  })
  @ApiOkResponse({ schema: VISIBLE_ORGANIZATIONS })
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: ListOrganizationsDto,
  ): Promise<SortedPage<VisibleOrganization>> {
    return this.organizations.list(caller, query);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @OrganizationTags()
  @ApiOperation({ summary: 'Get an organization' })
  @ApiOkResponse({ schema: VISIBLE_ORGANIZATION })
  get(@CurrentCaller() caller: Caller, @UuidParam('id', 'Organization') id: string): Promise<VisibleOrganization> {
    return this.organizations.get(caller, id);
  }

  @Post()
  @RequirePermission('organizations:write')
  @OrganizationTags()
  @AllowScopes('partner', 'system')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Create an organization' })
  @ApiCreatedResponse({ type: OrganizationDto })
  create(@CurrentCaller() caller: UserCaller, @Body() dto: CreateOrganizationDto): Promise<VisibleOrganization> {
    return this.organizations.create(caller, dto);
  }

  @Patch(':id')
  @RequirePermission('organizations:write')
  @OrganizationTags()
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

  @Delete(':id')
  @RequirePermission('organizations:delete')
  @OrganizationTags()
  @AllowScopes('partner', 'system')
  @ApiOperation({
    summary: 'Delete an organization',
    description:
      'Its members, keys, agents and webhooks stop working at once, and it no longer counts for the limits of the partner. It can be restored for 30 days; then its records are erased.',
  })
  @ApiOkResponse({ type: DoneDto })
  delete(@CurrentCaller() caller: Caller, @UuidParam('id', 'Organization') id: string): Promise<DoneDto> {
    return this.deletion.delete(caller, id);
  }

  @Post(':id/restore')
  @HttpCode(200)
  @RequirePermission('organizations:delete')
  @OrganizationTags()
  @AllowScopes('partner', 'system')
  @ErrorCodes({ 403: ['device_limit_reached'] })
  @ApiOperation({
    summary: 'Restore a deleted organization',
    description:
      'Possible for 30 days after the deletion; 404 afterwards and for an organization that is not deleted. The slug gets a number when it is taken by now.',
  })
  @ApiOkResponse({ type: OrganizationDto })
  restore(@CurrentCaller() caller: Caller, @UuidParam('id', 'Organization') id: string): Promise<VisibleOrganization> {
    return this.deletion.restore(caller, id);
  }
}
