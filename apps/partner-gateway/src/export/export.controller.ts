import { applyDecorators, Controller, Get, Query, UseFilters } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, PartnerKey } from '@rmm/access';
import type { PartnerKeyCaller } from '@rmm/access';
import { OrganizationPageDto, SitePageDto } from './dto/export-page.dto.js';
import { MAX_LIMIT } from './dto/export-query.dto.js';
import { ExportErrorFilter } from './export-error.filter.js';
import { ORGANIZATIONS, SITES } from './export-record.mapper.js';
import type { ExportPage } from './export.service.js';
import { ExportService } from './export.service.js';

type RawQuery = Record<string, unknown>;

/** The query parameters of every list. The service reads the query, because its errors have codes of their own. */
const ExportParameters = (defaultLimit: number) =>
  applyDecorators(
    ApiQuery({ name: 'orgId', required: false, schema: { type: 'string', format: 'uuid' } }),
    ApiQuery({
      name: 'updatedSince',
      required: false,
      description: 'Lists records changed after this time, oldest change first',
      schema: { type: 'string', format: 'date-time' },
    }),
    ApiQuery({ name: 'cursor', required: false, schema: { type: 'string', maxLength: 4096 } }),
    ApiQuery({
      name: 'limit',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: defaultLimit },
    }),
  );

@ApiTags('Partner interface')
@Controller('partner-api')
@UseFilters(ExportErrorFilter)
export class ExportController {
  constructor(private readonly exports: ExportService) {}

  @Get('organizations')
  @PartnerKey('organizations:read')
  @ExportParameters(ORGANIZATIONS.defaultLimit)
  @ApiOperation({ summary: 'List the organizations of the partner' })
  @ApiOkResponse({ type: OrganizationPageDto })
  listOrganizations(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, ORGANIZATIONS, query);
  }

  @Get('sites')
  @PartnerKey('sites:read')
  @ExportParameters(SITES.defaultLimit)
  @ApiOperation({ summary: 'List the sites of the partner' })
  @ApiOkResponse({ type: SitePageDto })
  listSites(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, SITES, query);
  }
}
