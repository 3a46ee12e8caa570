import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Put, Query, Res } from '@nestjs/common';
import { ApiConsumes, ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { CurrentCaller, ScimToken, type ScimCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import type { HttpResponse } from '../sessions/http-request.js';
import { ScimGroupDto, ScimGroupListDto } from './dto/scim-resource.dto.js';
import { GROUP_EXAMPLE, GROUP_PATCH_EXAMPLE } from './scim-examples.constants.js';
import { ScimGroupsService } from './scim-groups.service.js';
import { ScimAttributesDto, ScimListDto } from './scim-query.js';
import { LimitScim, ScimBody, ScimRoutes } from './scim-routes.decorator.js';
import { SCIM_MEDIA_TYPE } from './scim.config.js';

const GroupId = () => UuidParam('id', 'Group');

/** @see docs/reference/scim.md */
@ScimRoutes()
@ScimToken()
@ErrorCodes({
  400: ['scim_bad_request', 'validation_failed'],
  403: ['scim_role_not_grantable'],
  404: ['not_found'],
  409: ['scim_uniqueness'],
})
@Controller('scim/v2/Groups')
export class ScimGroupsController {
  constructor(private readonly groups: ScimGroupsService) {}

  @Get()
  @LimitScim()
  @ApiOperation({ summary: 'List or find provisioned groups' })
  @ApiOkResponse({ type: ScimGroupListDto })
  list(@CurrentCaller() caller: ScimCaller, @Query() query: ScimListDto): Promise<ScimGroupListDto> {
    return this.groups.list(caller, query);
  }

  @Get(':id')
  @LimitScim()
  @ApiOperation({ summary: 'Get a provisioned group' })
  @ApiOkResponse({ type: ScimGroupDto })
  get(
    @CurrentCaller() caller: ScimCaller,
    @GroupId() id: string,
    @Query() query: ScimAttributesDto,
  ): Promise<ScimGroupDto> {
    return this.groups.get(caller, id, query);
  }

  @Post()
  @LimitScim()
  @ApiOperation({ summary: 'Provision a group, which may give its users a role' })
  @ApiConsumes(SCIM_MEDIA_TYPE)
  @ScimBody('A group resource', GROUP_EXAMPLE)
  @ApiCreatedResponse({ type: ScimGroupDto })
  async create(
    @CurrentCaller() caller: ScimCaller,
    @Body() body: unknown,
    @Query() query: ScimAttributesDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<ScimGroupDto> {
    const group = await this.groups.create(caller, body, query);
    if (group.meta) response.setHeader('Location', group.meta.location);
    return group;
  }

  @Put(':id')
  @LimitScim()
  @ApiOperation({ summary: 'Replace a provisioned group with its users' })
  @ApiConsumes(SCIM_MEDIA_TYPE)
  @ScimBody('A group resource; users that it does not name are removed', GROUP_EXAMPLE)
  @ApiOkResponse({ type: ScimGroupDto })
  replace(
    @CurrentCaller() caller: ScimCaller,
    @GroupId() id: string,
    @Body() body: unknown,
    @Query() query: ScimAttributesDto,
  ): Promise<ScimGroupDto> {
    return this.groups.replace(caller, id, body, query);
  }

  @Patch(':id')
  @LimitScim()
  @HttpCode(204)
  @ApiOperation({ summary: 'Change a provisioned group, or add and remove users' })
  @ApiConsumes(SCIM_MEDIA_TYPE)
  @ScimBody('The operations', GROUP_PATCH_EXAMPLE)
  @ApiNoContentResponse()
  patch(@CurrentCaller() caller: ScimCaller, @GroupId() id: string, @Body() body: unknown): Promise<void> {
    return this.groups.patch(caller, id, body);
  }

  @Delete(':id')
  @LimitScim()
  @HttpCode(204)
  @ApiOperation({ summary: 'Delete a provisioned group; its users stay' })
  @ApiNoContentResponse()
  remove(@CurrentCaller() caller: ScimCaller, @GroupId() id: string): Promise<void> {
    return this.groups.remove(caller, id);
  }
}
