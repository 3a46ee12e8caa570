import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { PageQueryDto, pagedOf, UuidParam, type Paged } from '@rmm/validation';
import { ScriptTargetDto } from '../dto/create-script.dto.js';
import { ScriptDto } from '../dto/script.dto.js';
import { LibraryScriptDto, LibraryScriptSummaryDto } from './dto/library-script.dto.js';
import { SystemLibraryService } from './system-library.service.js';

/** @see docs/reference/provisioning.md#scripts */
@ApiTags('Scripts')
@Controller('scripts')
export class SystemLibraryController {
  constructor(private readonly library: SystemLibraryService) {}

  @Get('system-library')
  @RequirePermission('scripts:read')
  @ApiOperation({ summary: 'List the built-in scripts', description: 'By name.' })
  @ApiOkResponse({ type: pagedOf(LibraryScriptSummaryDto) })
  list(@Query() query: PageQueryDto): Paged<LibraryScriptSummaryDto> {
    return this.library.list(query);
  }

  @Get('system-library/:id')
  @RequirePermission('scripts:read')
  @ApiOperation({ summary: 'Get a built-in script' })
  @ApiOkResponse({ type: LibraryScriptDto })
  get(@UuidParam('id', 'Script') id: string): LibraryScriptDto {
    return this.library.get(id);
  }

  @Post('import/:id')
  @RequirePermission('scripts:write')
  @RequireMfa()
  @ErrorCodes({ 409: ['name_taken', 'script_limit_reached'] })
  @ApiOperation({
    summary: 'Copy a built-in script',
    description: 'Into the scripts of an organization, or of the partner.',
  })
  @ApiCreatedResponse({ type: ScriptDto })
  clone(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Script') id: string,
    @Body() dto: ScriptTargetDto,
  ): Promise<ScriptDto> {
    return this.library.clone(caller, id, dto);
  }
}
