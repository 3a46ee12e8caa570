import { Controller, Get, Query, UseFilters, UseInterceptors } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, PartnerKey } from '@rmm/access';
import type { PartnerKeyCaller } from '@rmm/access';
import { Compressed, ErrorCodes } from '@rmm/service-kit';
import { OrganizationPageDto, SitePageDto } from './dto/export-page.dto.js';
import { ExportErrorFilter } from './export-error.filter.js';
import { ExportPageInterceptor } from './export-page.interceptor.js';
import { ExportParameters } from './export-parameters.decorator.js';
import { ORGANIZATIONS, SITES } from './export-record.mapper.js';
import type { ExportPage } from './export.service.js';
import { ExportService } from './export.service.js';

type RawQuery = Record<string, unknown>;

@ApiTags('Partner interface')
@ErrorCodes({
  400: ['invalid_partner_export_cursor', 'invalid_partner_export_pagination', 'invalid_partner_export_query'],
  500: ['partner_export_failed'],
})
@Controller('partner-api')
@UseFilters(ExportErrorFilter)
@Compressed()
@UseInterceptors(ExportPageInterceptor)
export class ExportController {
  constructor(private readonly exports: ExportService) {}

  @Get('organizations')
  @PartnerKey('organizations:read')
  @ExportParameters(ORGANIZATIONS)
  @ApiOperation({ summary: 'List the organizations of the partner' })
  @ApiOkResponse({ type: OrganizationPageDto })
  listOrganizations(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, ORGANIZATIONS, query);
  }

  @Get('sites')
  @PartnerKey('sites:read')
  @ExportParameters(SITES)
  @ApiOperation({ summary: 'List the sites of the partner' })
  @ApiOkResponse({ type: SitePageDto })
  listSites(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, SITES, query);
  }
}
