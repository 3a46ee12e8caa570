import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, FullPartnerAccess, RequirePermission, type UserCaller } from '@rmm/access';
import { type Paged, pagedOf, UuidParam } from '@rmm/service-kit';
import { DoneDto } from '../action.dto.js';
import { AxisQueryDto, ListRolesDto } from '../members/dto/dto.js';
import { CloneRoleDto, CreateRoleDto, UpdateRoleDto } from './dto.js';
import { RoleEditor } from './role-editor.service.js';
import { AvailablePermissionsDto, EffectivePermissionsDto, RoleDto, RoleListItemDto, RoleUserDto } from './role.dto.js';
import { RolesService } from './roles.service.js';

@ApiTags('Roles')
@Controller('roles')
@FullPartnerAccess()
export class RolesController {
  constructor(
    private readonly roles: RolesService,
    private readonly editor: RoleEditor,
  ) {}

  @Get()
  @RequirePermission('users:read')
  @ApiOperation({ summary: 'System and custom roles, with user counts' })
  @ApiOkResponse({ type: pagedOf(RoleListItemDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListRolesDto): Promise<Paged<RoleListItemDto>> {
    return this.roles.list(caller, query);
  }

  @Post()
  @RequirePermission('users:write')
  @ApiOperation({ summary: 'Make a custom role' })
  @ApiCreatedResponse({ type: RoleDto })
  create(@CurrentCaller() caller: UserCaller, @Body() dto: CreateRoleDto): Promise<RoleDto> {
    return this.editor.create(caller, dto);
  }

  @Get('permissions/available')
  @RequirePermission('users:read')
  @ApiOperation({ summary: 'The words permissions are made of' })
  @ApiOkResponse({ type: AvailablePermissionsDto })
  available(): AvailablePermissionsDto {
    return this.roles.available();
  }

  @Get(':id')
  @RequirePermission('users:read')
  @ApiOperation({ summary: 'One role with its own permissions' })
  @ApiOkResponse({ type: RoleDto })
  get(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Role') id: string,
    @Query() query: AxisQueryDto,
  ): Promise<RoleDto> {
    return this.roles.get(caller, id, query);
  }

  @Patch(':id')
  @RequirePermission('users:write')
  @ApiOperation({ summary: 'Change a custom role; in force everywhere at once' })
  @ApiOkResponse({ type: RoleDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Role') id: string,
    @Body() dto: UpdateRoleDto,
  ): Promise<RoleDto> {
    return this.editor.update(caller, id, dto);
  }

  @Delete(':id')
  @RequirePermission('users:delete')
  @ApiOperation({ summary: 'Delete a custom role that nobody holds and nothing inherits from' })
  @ApiOkResponse({ type: DoneDto })
  async remove(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Role') id: string,
    @Query() query: AxisQueryDto,
  ): Promise<DoneDto> {
    await this.editor.remove(caller, id, query);
    return { success: true };
  }

  @Post(':id/clone')
  @RequirePermission('users:write')
  @HttpCode(201)
  @ApiOperation({ summary: 'Copy a role, seeded ones too, into a custom one' })
  @ApiCreatedResponse({ type: RoleDto })
  clone(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Role') id: string,
    @Body() dto: CloneRoleDto,
  ): Promise<RoleDto> {
    return this.editor.clone(caller, id, dto);
  }

  @Get(':id/users')
  @RequirePermission('users:read')
  @ApiOperation({ summary: 'Who holds a role' })
  @ApiOkResponse({ type: pagedOf(RoleUserDto) })
  users(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Role') id: string,
    @Query() query: ListRolesDto,
  ): Promise<Paged<RoleUserDto>> {
    return this.roles.users(caller, id, query);
  }

  @Get(':id/effective-permissions')
  @RequirePermission('users:read')
  @ApiOperation({ summary: 'What a role gives in all, and where each permission comes from' })
  @ApiOkResponse({ type: EffectivePermissionsDto })
  effective(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Role') id: string,
    @Query() query: AxisQueryDto,
  ): Promise<EffectivePermissionsDto> {
    return this.roles.effective(caller, id, query);
  }
}
