import { applyDecorators, Controller, Get, Query, UseFilters } from '@nestjs/common';
import { ApiOkResponse, ApiQuery, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, PartnerKey } from '@rmm/access';
import type { PartnerKeyCaller } from '@rmm/access';
import { OrganizationPageDto, SitePageDto } from './dto/export-page.dto.js';
import { MAX_LIMIT } from './export-query.js';
import { ORGANIZATIONS, SITES } from './export-resources.js';
import type { ExportPage } from './export.service.js';
import { ExportService } from './export.service.js';
import { PartnerErrorFilter } from './partner-error.filter.js';

type RawQuery = Record<string, unknown>;

/** What every list takes. The query is read strictly by the service, since refusals have codes of their own. */
const ExportParameters = (defaultLimit: number) =>
  applyDecorators(
    ApiQuery({ name: 'orgId', required: false, schema: { type: 'string', format: 'uuid' } }),
    ApiQuery({
      name: 'updatedSince',
      required: false,
      description: 'Only what changed after this time; switches to the incremental walk',
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
@UseFilters(PartnerErrorFilter)
export class ExportController {
  constructor(private readonly exports: ExportService) {}

  @Get('organizations')
  @PartnerKey('organizations:read')
  @ExportParameters(ORGANIZATIONS.defaultLimit)
  @ApiOkResponse({ type: OrganizationPageDto })
  organizations(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.page(caller, ORGANIZATIONS, query);
  }

  @Get('sites')
  @PartnerKey('sites:read')
  @ExportParameters(SITES.defaultLimit)
  @ApiOkResponse({ type: SitePageDto })
  sites(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.page(caller, SITES, query);
  }
}
