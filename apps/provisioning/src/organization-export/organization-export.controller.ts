import { Controller, Get, StreamableFile } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import {
  AllowScopes,
  CurrentCaller,
  FullPartnerAccess,
  RequireMfa,
  RequirePermission,
  type UserCaller,
} from '@rmm/access';
import { RateLimit } from '@rmm/rate-limits';
import { ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { LIMITS } from '../limits.js';
import { EXPORT_PERMISSIONS, OrganizationExportService } from './organization-export.service.js';

@ApiTags('Organizations')
@ErrorCodes({ 403: ['mfa_required', 'scope_not_allowed'] })
@Controller('orgs/organizations/:id/export')
export class OrganizationExportController {
  constructor(private readonly exports: OrganizationExportService) {}

  @Get()
  @RequirePermission(...EXPORT_PERMISSIONS)
  @AllowScopes('partner', 'system')
  @FullPartnerAccess()
  @RequireMfa()
  @RateLimit(LIMITS.organizationExport, 'user')
  @ApiOperation({
    summary: 'Export an organization',
    description:
      'Streams everything that is stored of an organization, live or deleted, as NDJSON: one object `{ resource, data }` a line. The last line has `resource` "export" and `data.complete` true with the number of records of each resource; without it the export is not complete.',
  })
  @ApiProduces('application/x-ndjson')
  @ApiOkResponse({ schema: { type: 'string', format: 'binary' } })
  export(@CurrentCaller() caller: UserCaller, @UuidParam('id', 'Organization') id: string): Promise<StreamableFile> {
    return this.exports.export(caller, id);
  }
}
