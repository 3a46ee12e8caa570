import { Body, Controller, Delete, Get, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type Caller } from '@rmm/access';
import { DoneDto, EntityTagged, ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { sortedPageOf, type SortedPage } from '../lists/dto/sorted-page.dto.js';
import { CreateSiteDto } from './dto/create-site.dto.js';
import { ListSitesDto } from './dto/list-sites.dto.js';
import { SiteDto } from './dto/site.dto.js';
import { UpdateSiteDto } from './dto/update-site.dto.js';
import { SitesService } from './sites.service.js';

const SiteTags = () => EntityTagged<SiteDto>('deviceCount');

@ApiTags('Sites')
@Controller('orgs/sites')
export class SitesController {
  constructor(private readonly sites: SitesService) {}

  @Get()
  @RequirePermission('sites:read')
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOperation({ summary: 'List sites', description: 'Newest first by default.' })
  @ApiOkResponse({ type: sortedPageOf(SiteDto) })
  list(@CurrentCaller() caller: Caller, @Query() query: ListSitesDto): Promise<SortedPage<SiteDto>> {
    return this.sites.list(caller, query);
  }

  @Get(':id')
  @RequirePermission('sites:read')
  @SiteTags()
  @ApiOperation({ summary: 'Get a site' })
  @ApiOkResponse({ type: SiteDto })
  get(@CurrentCaller() caller: Caller, @UuidParam('id', 'Site') id: string): Promise<SiteDto> {
    return this.sites.get(caller, id);
  }

  @Post()
  @RequirePermission('sites:write')
  @SiteTags()
  @ErrorCodes({ 409: ['site_name_conflict'] })
  @ApiOperation({ summary: 'Create a site' })
  @ApiCreatedResponse({ type: SiteDto })
  create(@CurrentCaller() caller: Caller, @Body() dto: CreateSiteDto): Promise<SiteDto> {
    return this.sites.create(caller, dto);
  }

  @Patch(':id')
  @RequirePermission('sites:write')
  @SiteTags()
  @ErrorCodes({ 409: ['site_name_conflict'] })
  @ApiOperation({ summary: 'Update a site', description: 'Absent fields stay as they are; null clears them.' })
  @ApiOkResponse({ type: SiteDto })
  update(
    @CurrentCaller() caller: Caller,
    @UuidParam('id', 'Site') id: string,
    @Body() dto: UpdateSiteDto,
  ): Promise<SiteDto> {
    return this.sites.update(caller, id, dto);
  }

  @Delete(':id')
  @RequirePermission('sites:delete')
  @SiteTags()
  @ErrorCodes({ 409: ['site_not_empty'] })
  @ApiOperation({
    summary: 'Delete a site',
    description: 'Possible without devices in it. Its enrollment keys and device groups are deleted too.',
  })
  @ApiOkResponse({ type: DoneDto })
  delete(@CurrentCaller() caller: Caller, @UuidParam('id', 'Site') id: string): Promise<DoneDto> {
    return this.sites.delete(caller, id);
  }
}
