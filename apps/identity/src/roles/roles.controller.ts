import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, FullPartnerAccess, RequirePermission, type UserCaller } from '@rmm/access';
import { type Paged, pagedOf } from '@rmm/service-kit';
import { ListRolesDto } from '../users/dto.js';
import { RoleListItemDto } from './role.dto.js';
import { RolesService } from './roles.service.js';

@ApiTags('Roles')
@Controller('roles')
@FullPartnerAccess()
export class RolesController {
  constructor(private readonly roles: RolesService) {}

  @Get()
  @RequirePermission('users:read')
  @ApiOperation({ summary: 'System and custom roles, with user counts' })
  @ApiOkResponse({ type: pagedOf(RoleListItemDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListRolesDto): Promise<Paged<RoleListItemDto>> {
    return this.roles.list(caller, query);
  }
}
