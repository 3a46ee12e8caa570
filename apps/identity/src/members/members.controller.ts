import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AllowScopes, CurrentCaller, FullPartnerAccess, RequirePermission, type UserCaller } from '@rmm/access';
import { type Paged, pagedOf, UuidParam } from '@rmm/service-kit';
import { DoneDto } from '../action.dto.js';
import { AssignableRoleDto } from '../roles/role.dto.js';
import { RolesService } from '../roles/roles.service.js';
import { PlatformUserDto } from './dto/platform-user.dto.js';
import { AccountsService } from './accounts.service.js';
import { AssignRoleDto, AxisQueryDto, ListRolesDto, ListUsersDto, UpdateUserDto } from './dto/dto.js';
import { OffBoardingService } from './off-boarding.service.js';
import { RoleAssignmentService } from './role-assignment.service.js';
import { UserDto } from './dto/member.dto.js';
import { MembersService } from './members.service.js';

@ApiTags('Users')
@Controller('users')
export class MembersController {
  constructor(
    private readonly users: MembersService,
    private readonly roles: RolesService,
    private readonly assignments: RoleAssignmentService,
    private readonly offBoardings: OffBoardingService,
    private readonly accounts: AccountsService,
  ) {}

  @Get()
  @RequirePermission('users:read')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Users in the current scope' })
  @ApiOkResponse({ type: pagedOf(UserDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListUsersDto): Promise<Paged<UserDto>> {
    return this.users.list(caller, query);
  }

  @Get('roles')
  @RequirePermission('users:read')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Roles that can be given in the current scope' })
  @ApiOkResponse({ type: pagedOf(AssignableRoleDto) })
  listRoles(@CurrentCaller() caller: UserCaller, @Query() query: ListRolesDto): Promise<Paged<AssignableRoleDto>> {
    return this.roles.listAssignable(caller, query);
  }

  @Get(':id')
  @RequirePermission('users:read')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'One user of the current scope' })
  @ApiOkResponse({ type: UserDto })
  get(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'User') id: string,
    @Query() query: AxisQueryDto,
  ): Promise<UserDto> {
    return this.users.get(caller, id, query);
  }

  @Patch(':id')
  @RequirePermission('users:write')
  @AllowScopes('system')
  @ApiOperation({ summary: 'Change an account; leaving active ends its sessions' })
  @ApiOkResponse({ type: PlatformUserDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'User') id: string,
    @Body() dto: UpdateUserDto,
  ): Promise<PlatformUserDto> {
    return this.accounts.update(caller, id, dto);
  }

  @Delete(':id')
  @RequirePermission('users:delete')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Remove a member; the account stays and can be invited again' })
  @ApiOkResponse({ type: DoneDto })
  async remove(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'User') id: string,
    @Query() query: AxisQueryDto,
  ): Promise<DoneDto> {
    await this.offBoardings.remove(caller, id, query);
    return { success: true };
  }

  @Post(':id/role')
  @RequirePermission('users:write')
  @FullPartnerAccess()
  @HttpCode(200)
  @ApiOperation({ summary: 'Give a member another role' })
  @ApiOkResponse({ type: DoneDto })
  async assignRole(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'User') id: string,
    @Body() dto: AssignRoleDto,
  ): Promise<DoneDto> {
    await this.assignments.assign(caller, id, dto);
    return { success: true };
  }
}
