import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AllowScopes, CurrentCaller, FullPartnerAccess, RequirePermission, type UserCaller } from '@rmm/access';
import { DoneDto, EntityTagged, ErrorCodes } from '@rmm/service-kit';
import { type Paged, pagedOf, UuidParam } from '@rmm/validation';
import { ListRolesDto } from '../roles/dto/list-roles.dto.js';
import { AssignableRoleDto } from '../roles/dto/role.dto.js';
import { RolesService } from '../roles/roles.service.js';
import { AssignRoleDto } from './dto/assign-role.dto.js';
import { ListUsersDto } from './dto/list-members.dto.js';
import { MemberScopeQueryDto } from './dto/member-scope-query.dto.js';
import { UserDto, VOLATILE_USER_FIELDS } from './dto/member.dto.js';
import { PlatformUserDto, VOLATILE_PLATFORM_USER_FIELDS } from './dto/platform-user.dto.js';
import { UpdateMembershipDto } from './dto/update-membership.dto.js';
import { UpdateUserDto } from './dto/update-user.dto.js';
import { MembersService } from './members.service.js';
import { PlatformUsersService } from './platform-users.service.js';

const UserTags = () => EntityTagged<UserDto>(...VOLATILE_USER_FIELDS);
const PlatformUserTags = () => EntityTagged<PlatformUserDto>(...VOLATILE_PLATFORM_USER_FIELDS);

@ApiTags('Users')
@ErrorCodes({
  400: ['invalid_role_scope', 'self_action_refused'],
  403: ['self_action_refused', 'user_in_other_tenants'],
  409: ['last_admin', 'managed_by_scim', 'mfa_policy_would_lock_out_users', 'user_already_exists'],
})
@Controller('users')
export class MembersController {
  constructor(
    private readonly members: MembersService,
    private readonly roles: RolesService,
    private readonly platformUsers: PlatformUsersService,
  ) {}

  @Get()
  @RequirePermission('users:read')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'List the users of a partner or an organization' })
  @ApiOkResponse({ type: pagedOf(UserDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListUsersDto): Promise<Paged<UserDto>> {
    return this.members.list(caller, query);
  }

  @Get('roles')
  @RequirePermission('users:read')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'List the roles that can be assigned in a partner or an organization' })
  @ApiOkResponse({ type: pagedOf(AssignableRoleDto) })
  listRoles(@CurrentCaller() caller: UserCaller, @Query() query: ListRolesDto): Promise<Paged<AssignableRoleDto>> {
    return this.roles.listAssignable(caller, query);
  }

  @Get(':id')
  @RequirePermission('users:read')
  @UserTags()
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Get a user of a partner or an organization' })
  @ApiOkResponse({ type: UserDto })
  get(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'User') id: string,
    @Query() query: MemberScopeQueryDto,
  ): Promise<UserDto> {
    return this.members.get(caller, id, query);
  }

  @Patch(':id')
  @RequirePermission('users:write')
  @PlatformUserTags()
  @AllowScopes('system')
  @ApiOperation({ summary: 'Update a user; any status but active ends its sessions' })
  @ApiOkResponse({ type: PlatformUserDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'User') id: string,
    @Body() dto: UpdateUserDto,
  ): Promise<PlatformUserDto> {
    return this.platformUsers.update(caller, id, dto);
  }

  @Patch(':id/membership')
  @RequirePermission('users:write')
  @UserTags()
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Change the organizations, sites or device groups a member has access to' })
  @ApiOkResponse({ type: UserDto })
  updateMembership(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'User') id: string,
    @Body() dto: UpdateMembershipDto,
  ): Promise<UserDto> {
    return this.members.updateAccess(caller, id, dto);
  }

  @Delete(':id')
  @RequirePermission('users:delete')
  @UserTags()
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Remove a member; the user remains and can be invited again' })
  @ApiOkResponse({ type: DoneDto })
  async remove(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'User') id: string,
    @Query() query: MemberScopeQueryDto,
  ): Promise<DoneDto> {
    await this.members.remove(caller, id, query);
    return { success: true };
  }

  @Post(':id/role')
  @RequirePermission('users:write')
  @FullPartnerAccess()
  @HttpCode(200)
  @ApiOperation({ summary: 'Assign another role to a member' })
  @ApiOkResponse({ type: DoneDto })
  async assignRole(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'User') id: string,
    @Body() dto: AssignRoleDto,
  ): Promise<DoneDto> {
    await this.members.assignRole(caller, id, dto);
    return { success: true };
  }
}
