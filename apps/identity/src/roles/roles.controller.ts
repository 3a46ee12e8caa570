import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, FullPartnerAccess, RequirePermission, type UserCaller } from '@rmm/access';
import { DoneDto, EntityTagged, ErrorCodes } from '@rmm/service-kit';
import { type Paged, pagedOf, UuidParam } from '@rmm/validation';
import { MemberScopeQueryDto } from '../members/dto/member-scope-query.dto.js';
import { CloneRoleDto } from './dto/clone-role.dto.js';
import { CreateRoleDto } from './dto/create-role.dto.js';
import { EffectivePermissionsDto } from './dto/effective-permissions.dto.js';
import { ListRolesDto } from './dto/list-roles.dto.js';
import { AvailablePermissionsDto } from './dto/permission-catalog.dto.js';
import { RoleDto, RoleListItemDto, RoleUserDto } from './dto/role.dto.js';
import { UpdateRoleDto } from './dto/update-role.dto.js';
import { RolesService } from './roles.service.js';

const RoleTags = () => EntityTagged<RoleDto>('parentRoleName', 'userCount');

@ApiTags('Roles')
@ErrorCodes({
  400: [
    'circular_inheritance',
    'inheritance_too_deep',
    'invalid_parent_role',
    'invalid_role_scope',
    'role_has_children',
    'role_has_users',
  ],
  403: ['system_role_immutable'],
  409: ['conflict', 'mfa_policy_would_lock_out_users', 'too_many_roles'],
})
@Controller('roles')
@FullPartnerAccess()
export class RolesController {
  constructor(private readonly roles: RolesService) {}

  @Get()
  @RequirePermission('users:read')
  @ApiOperation({ summary: 'List system and custom roles with user counts' })
  @ApiOkResponse({ type: pagedOf(RoleListItemDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListRolesDto): Promise<Paged<RoleListItemDto>> {
    return this.roles.list(caller, query);
  }

  @Post()
  @RequirePermission('users:write')
  @RoleTags()
  @ApiOperation({ summary: 'Create a custom role' })
  @ApiCreatedResponse({ type: RoleDto })
  create(@CurrentCaller() caller: UserCaller, @Body() dto: CreateRoleDto): Promise<RoleDto> {
    return this.roles.create(caller, dto);
  }

  @Get('permissions/available')
  @RequirePermission('users:read')
  @ApiOperation({ summary: 'List the resources and actions permissions are made of' })
  @ApiOkResponse({ type: AvailablePermissionsDto })
  listAvailablePermissions(): AvailablePermissionsDto {
    return this.roles.listAvailablePermissions();
  }

  @Get(':id')
  @RequirePermission('users:read')
  @RoleTags()
  @ApiOperation({ summary: 'Get a role with its own permissions' })
  @ApiOkResponse({ type: RoleDto })
  get(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Role') id: string,
    @Query() query: MemberScopeQueryDto,
  ): Promise<RoleDto> {
    return this.roles.get(caller, id, query);
  }

  @Patch(':id')
  @RequirePermission('users:write')
  @RoleTags()
  @ApiOperation({ summary: 'Update a custom role; takes effect on every service at once' })
  @ApiOkResponse({ type: RoleDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Role') id: string,
    @Body() dto: UpdateRoleDto,
  ): Promise<RoleDto> {
    return this.roles.update(caller, id, dto);
  }

  @Delete(':id')
  @RequirePermission('users:delete')
  @RoleTags()
  @ApiOperation({ summary: 'Delete a custom role without users and child roles' })
  @ApiOkResponse({ type: DoneDto })
  async remove(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Role') id: string,
    @Query() query: MemberScopeQueryDto,
  ): Promise<DoneDto> {
    await this.roles.remove(caller, id, query);
    return { success: true };
  }

  @Post(':id/clone')
  @RequirePermission('users:write')
  @RoleTags()
  @HttpCode(201)
  @ApiOperation({ summary: 'Copy a custom or system role into a new custom role' })
  @ApiCreatedResponse({ type: RoleDto })
  clone(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Role') id: string,
    @Body() dto: CloneRoleDto,
  ): Promise<RoleDto> {
    return this.roles.clone(caller, id, dto);
  }

  @Get(':id/users')
  @RequirePermission('users:read')
  @ApiOperation({ summary: 'List the users who have a role' })
  @ApiOkResponse({ type: pagedOf(RoleUserDto) })
  listUsers(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Role') id: string,
    @Query() query: ListRolesDto,
  ): Promise<Paged<RoleUserDto>> {
    return this.roles.listUsers(caller, id, query);
  }

  @Get(':id/effective-permissions')
  @RequirePermission('users:read')
  @ApiOperation({ summary: 'List all permissions of a role with the source of each' })
  @ApiOkResponse({ type: EffectivePermissionsDto })
  getEffectivePermissions(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Role') id: string,
    @Query() query: MemberScopeQueryDto,
  ): Promise<EffectivePermissionsDto> {
    return this.roles.getEffectivePermissions(caller, id, query);
  }
}
