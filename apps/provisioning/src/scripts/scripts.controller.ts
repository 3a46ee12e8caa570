import { Body, Controller, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, type UserCaller } from '@rmm/access';
import { DoneDto, EntityTagged, ErrorCodes, NotFoundError } from '@rmm/service-kit';
import { PageQueryDto, pagedOf, UuidParam, type Paged } from '@rmm/validation';
import { sortedPageOf, type SortedPage } from '../lists/dto/sorted-page.dto.js';
import { CreateScriptDto } from './dto/create-script.dto.js';
import { ListScriptsDto } from './dto/list-scripts.dto.js';
import { UpdateScriptDto } from './dto/script-fields.dto.js';
import { ScriptDto, ScriptSummaryDto, ScriptVersionDto, ScriptVersionSummaryDto } from './dto/script.dto.js';
import { ScriptsService } from './scripts.service.js';

const ScriptId = () => UuidParam('id', 'Script');

const ScriptTags = () => EntityTagged();

/** @see docs/reference/provisioning.md#scripts */
@ApiTags('Scripts')
@Controller('scripts')
export class ScriptsController {
  constructor(private readonly scripts: ScriptsService) {}

  @Get()
  @RequirePermission('scripts:read')
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOperation({ summary: 'List scripts', description: 'Newest first by default, without their contents.' })
  @ApiOkResponse({ type: sortedPageOf(ScriptSummaryDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListScriptsDto): Promise<SortedPage<ScriptSummaryDto>> {
    return this.scripts.list(caller, query);
  }

  @Get(':id')
  @RequirePermission('scripts:read')
  @ScriptTags()
  @ApiOperation({ summary: 'Get a script' })
  @ApiOkResponse({ type: ScriptDto })
  get(@CurrentCaller() caller: UserCaller, @ScriptId() id: string): Promise<ScriptDto> {
    return this.scripts.get(caller, id);
  }

  @Get(':id/versions')
  @RequirePermission('scripts:read')
  @ApiOperation({
    summary: 'List the replaced versions of a script',
    description: 'Newest first, without their contents; the last 20 are kept.',
  })
  @ApiOkResponse({ type: pagedOf(ScriptVersionSummaryDto) })
  listVersions(
    @CurrentCaller() caller: UserCaller,
    @ScriptId() id: string,
    @Query() query: PageQueryDto,
  ): Promise<Paged<ScriptVersionSummaryDto>> {
    return this.scripts.listVersions(caller, id, query);
  }

  @Get(':id/versions/:version')
  @RequirePermission('scripts:read')
  @ApiOperation({ summary: 'Get a replaced version of a script' })
  @ApiParam({ name: 'version', schema: { type: 'integer', minimum: 1 }, description: 'Number of the version' })
  @ApiOkResponse({ type: ScriptVersionDto })
  getVersion(
    @CurrentCaller() caller: UserCaller,
    @ScriptId() id: string,
    @Param('version') version: string,
  ): Promise<ScriptVersionDto> {
    if (!/^\d{1,9}$/.test(version)) throw new NotFoundError('Script version');
    return this.scripts.getVersion(caller, id, Number(version));
  }

  @Post()
  @RequirePermission('scripts:write')
  @ScriptTags()
  @RequireMfa()
  @ErrorCodes({ 409: ['name_taken', 'script_limit_reached'] })
  @ApiOperation({ summary: 'Create a script', description: 'Of one organization, or of the partner.' })
  @ApiCreatedResponse({ type: ScriptDto })
  create(@CurrentCaller() caller: UserCaller, @Body() dto: CreateScriptDto): Promise<ScriptDto> {
    return this.scripts.create(caller, dto);
  }

  @Patch(':id')
  @RequirePermission('scripts:write')
  @ScriptTags()
  @RequireMfa()
  @ErrorCodes({ 409: ['name_taken'] })
  @ApiOperation({
    summary: 'Update a script',
    description:
      'Absent fields stay as they are; null clears. A change of what a device runs raises the version and keeps the replaced one.',
  })
  @ApiOkResponse({ type: ScriptDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @ScriptId() id: string,
    @Body() dto: UpdateScriptDto,
  ): Promise<ScriptDto> {
    return this.scripts.update(caller, id, dto);
  }

  @Delete(':id')
  @RequirePermission('scripts:delete')
  @ScriptTags()
  @RequireMfa()
  @ApiOperation({ summary: 'Delete a script', description: 'Also deletes its versions.' })
  @ApiOkResponse({ type: DoneDto })
  delete(@CurrentCaller() caller: UserCaller, @ScriptId() id: string): Promise<DoneDto> {
    return this.scripts.delete(caller, id);
  }
}
