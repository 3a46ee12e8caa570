import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type Caller } from '@rmm/access';
import { pagedOf, UuidParam, type Paged } from '@rmm/validation';
import { CreateSiteDto } from './dto/create-site.dto.js';
import { ListSitesDto } from './dto/list-sites.dto.js';
import { SiteDto } from './dto/site.dto.js';
import { SitesService } from './sites.service.js';

@ApiTags('Sites')
@Controller('orgs/sites')
export class SitesController {
  constructor(private readonly sites: SitesService) {}

  @Get()
  @RequirePermission('sites:read')
  @ApiOperation({ summary: 'List sites', description: 'Newest first.' })
  @ApiOkResponse({ type: pagedOf(SiteDto) })
  list(@CurrentCaller() caller: Caller, @Query() query: ListSitesDto): Promise<Paged<SiteDto>> {
    return this.sites.list(caller, query);
  }

  @Get(':id')
  @RequirePermission('sites:read')
  @ApiOperation({ summary: 'Get a site' })
  @ApiOkResponse({ type: SiteDto })
  get(@CurrentCaller() caller: Caller, @UuidParam('id', 'Site') id: string): Promise<SiteDto> {
    return this.sites.get(caller, id);
  }

  @Post()
  @RequirePermission('sites:write')
  @ApiOperation({ summary: 'Create a site' })
  @ApiCreatedResponse({ type: SiteDto })
  create(@CurrentCaller() caller: Caller, @Body() dto: CreateSiteDto): Promise<SiteDto> {
    return this.sites.create(caller, dto);
  }
}
