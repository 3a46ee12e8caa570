import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Put, Query, Res } from '@nestjs/common';
import { ApiConsumes, ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { CurrentCaller, ScimToken, type ScimCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import type { HttpResponse } from '../sessions/http-request.js';
import { ScimUserDto, ScimUserListDto } from './dto/scim-resource.dto.js';
import { USER_EXAMPLE, USER_PATCH_EXAMPLE } from './scim-examples.constants.js';
import { ScimAttributesDto, ScimListDto } from './scim-query.js';
import { LimitScim, ScimBody, ScimRoutes } from './scim-routes.decorator.js';
import { ScimUsersService } from './scim-users.service.js';
import { SCIM_MEDIA_TYPE } from './scim.config.js';

const UserId = () => UuidParam('id', 'User');

/** @see docs/reference/scim.md */
@ScimRoutes()
@ScimToken()
@ErrorCodes({
  400: ['scim_bad_request', 'validation_failed'],
  403: ['scim_account_refused', 'scim_role_not_grantable'],
  404: ['not_found'],
  409: ['scim_uniqueness'],
})
@Controller('scim/v2/Users')
export class ScimUsersController {
  constructor(private readonly users: ScimUsersService) {}

  @Get()
  @LimitScim()
  @ApiOperation({ summary: 'List or find provisioned users' })
  @ApiOkResponse({ type: ScimUserListDto })
  list(@CurrentCaller() caller: ScimCaller, @Query() query: ScimListDto): Promise<ScimUserListDto> {
    return this.users.list(caller, query);
  }

  @Get(':id')
  @LimitScim()
  @ApiOperation({ summary: 'Get a provisioned user' })
  @ApiOkResponse({ type: ScimUserDto })
  get(
    @CurrentCaller() caller: ScimCaller,
    @UserId() id: string,
    @Query() query: ScimAttributesDto,
  ): Promise<ScimUserDto> {
    return this.users.get(caller, id, query);
  }

  @Post()
  @LimitScim()
  @ApiOperation({ summary: 'Provision a user: a member of the organization without a password' })
  @ApiConsumes(SCIM_MEDIA_TYPE)
  @ScimBody('A user resource; attributes that are not stored are ignored', USER_EXAMPLE)
  @ApiCreatedResponse({ type: ScimUserDto })
  async create(
    @CurrentCaller() caller: ScimCaller,
    @Body() body: unknown,
    @Query() query: ScimAttributesDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<ScimUserDto> {
    const user = await this.users.create(caller, body, query);
    if (user.meta) response.setHeader('Location', user.meta.location);
    return user;
  }

  @Put(':id')
  @LimitScim()
  @ApiOperation({ summary: 'Replace the attributes of a provisioned user' })
  @ApiConsumes(SCIM_MEDIA_TYPE)
  @ScimBody('A user resource; absent attributes are cleared', USER_EXAMPLE)
  @ApiOkResponse({ type: ScimUserDto })
  replace(
    @CurrentCaller() caller: ScimCaller,
    @UserId() id: string,
    @Body() body: unknown,
    @Query() query: ScimAttributesDto,
  ): Promise<ScimUserDto> {
    return this.users.replace(caller, id, body, query);
  }

  @Patch(':id')
  @LimitScim()
  @ApiOperation({ summary: 'Change a provisioned user; active false ends its access at once' })
  @ApiConsumes(SCIM_MEDIA_TYPE)
  @ScimBody('The operations', USER_PATCH_EXAMPLE)
  @ApiOkResponse({ type: ScimUserDto })
  patch(
    @CurrentCaller() caller: ScimCaller,
    @UserId() id: string,
    @Body() body: unknown,
    @Query() query: ScimAttributesDto,
  ): Promise<ScimUserDto> {
    return this.users.patch(caller, id, body, query);
  }

  @Delete(':id')
  @LimitScim()
  @HttpCode(204)
  @ApiOperation({ summary: 'Delete a provisioned user and end its membership; the account stays' })
  @ApiNoContentResponse()
  remove(@CurrentCaller() caller: ScimCaller, @UserId() id: string): Promise<void> {
    return this.users.remove(caller, id);
  }
}
