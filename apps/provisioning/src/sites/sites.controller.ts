import { CurrentCaller, RequirePermission, type Caller } from '@rmm/access';
import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { pagedOf, UuidParam, type Paged } from '@rmm/service-kit';
import { CreateSiteDto } from './dto/create-site.dto.js';
import { ListSitesDto } from './dto/list-sites.dto.js';
import { SiteDto, toSiteDto } from './dto/site.dto.js';
import { SitesService } from './sites.service.js';

@ApiTags('Sites')
@Controller('orgs/sites')
export class SitesController {
  constructor(private readonly sites: SitesService) {}

  @Get()
  @RequirePermission('sites:read')
  @ApiOkResponse({ type: pagedOf(SiteDto) })
  async list(@CurrentCaller() caller: Caller, @Query() query: ListSitesDto): Promise<Paged<SiteDto>> {
    const { data, pagination } = await this.sites.list(caller, query);
    return { data: data.map(toSiteDto), pagination };
  }

  @Get(':id')
  @RequirePermission('sites:read')
  @ApiOkResponse({ type: SiteDto })
  async get(@CurrentCaller() caller: Caller, @UuidParam('id', 'Site') id: string): Promise<SiteDto> {
    return toSiteDto(await this.sites.get(caller, id));
  }

  @Post()
  @RequirePermission('sites:write')
  @ApiCreatedResponse({ type: SiteDto })
  async create(@CurrentCaller() caller: Caller, @Body() dto: CreateSiteDto): Promise<SiteDto> {
    return toSiteDto(await this.sites.create(caller, dto));
  }
}
