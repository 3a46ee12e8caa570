import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, FullPartnerAccess, RequirePermission, type UserCaller } from '@rmm/access';
import { ListRolesDto } from '../users/dto.js';
import { RolesService } from './roles.service.js';

@ApiTags('Roles')
@Controller('roles')
@FullPartnerAccess()
export class RolesController {
  constructor(private readonly roles: RolesService) {}

  @Get()
  @RequirePermission('users:read')
  @ApiOperation({ summary: 'System and custom roles, with user counts' })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListRolesDto) {
    return this.roles.list(caller, query);
  }
}
