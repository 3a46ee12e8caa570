import { applyDecorators, Body, Controller, Header, Post, UseFilters } from '@nestjs/common';
import { ApiCreatedResponse, ApiHeader, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, IdempotentAtOwner, PartnerKey, type PartnerKeyCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { ExportErrorFilter } from '../export/export-error.filter.js';
import type { CreatedRecordBody } from './created-record.mapper.js';
import { CreateEnrollmentKeyDto } from './dto/create-enrollment-key.dto.js';
import { CreateOrganizationDto } from './dto/create-organization.dto.js';
import { CreateSiteDto } from './dto/create-site.dto.js';
import { CreatedEnrollmentKeyDto, CreatedOrganizationDto, CreatedSiteDto } from './dto/created.dto.js';
import { WritesService } from './writes.service.js';

/** Supports the header `Idempotency-Key`, and documents it. */
const AcceptsIdempotencyKey = () =>
  applyDecorators(
    IdempotentAtOwner(),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description: 'A repeated request gets the stored response for 24 hours',
    }),
  );

/** The codes that the idempotency key of a request may cause. */
const IDEMPOTENCY_409 = ['idempotency_key_reused', 'idempotency_key_in_use', 'idempotent_response_not_stored'];

/** The writes of the partner interface; there are no others. The partner is always the one of the key. */
@ApiTags('Partner interface')
@Controller('partner-api')
@UseFilters(ExportErrorFilter)
export class WritesController {
  constructor(private readonly writes: WritesService) {}

  @Post('organizations')
  @PartnerKey('organizations:write')
  @AcceptsIdempotencyKey()
  @ApiOperation({
    summary: 'Create an organization of the partner',
    description: 'A taken slug is 409 with `orgId`, the existing organization, so that a repeated run can go on.',
  })
  @ApiCreatedResponse({ type: CreatedOrganizationDto })
  @ErrorCodes({
    400: ['invalid_idempotency_key'],
    403: ['partner_access_denied'],
    409: ['partner_provisioning_slug_conflict', 'partner_provisioning_org_limit_reached', ...IDEMPOTENCY_409],
    429: ['too_many_idempotency_keys'],
    500: ['partner_export_failed'],
  })
  createOrganization(
    @CurrentCaller() caller: PartnerKeyCaller,
    @Body() dto: CreateOrganizationDto,
  ): Promise<CreatedRecordBody> {
    return this.writes.createOrganization(caller, dto);
  }

  @Post('sites')
  @PartnerKey('sites:write')
  @AcceptsIdempotencyKey()
  @ApiOperation({ summary: 'Create a site of an organization' })
  @ApiCreatedResponse({ type: CreatedSiteDto })
  @ErrorCodes({
    400: ['invalid_idempotency_key'],
    409: ['site_name_conflict', ...IDEMPOTENCY_409],
    429: ['too_many_idempotency_keys'],
    500: ['partner_export_failed'],
  })
  createSite(@CurrentCaller() caller: PartnerKeyCaller, @Body() dto: CreateSiteDto): Promise<CreatedRecordBody> {
    return this.writes.createSite(caller, dto);
  }

  @Post('enrollment-keys')
  @PartnerKey('enrollment-keys:write')
  @AcceptsIdempotencyKey()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({
    summary: 'Create an enrollment key; only this response contains the key',
    description:
      'A repeated request with the same idempotency key gets the key again for ten minutes; later it is 409 ' +
      '`idempotent_response_not_stored`.',
  })
  @ApiCreatedResponse({ type: CreatedEnrollmentKeyDto })
  @ErrorCodes({
    400: ['invalid_idempotency_key', 'partner_provisioning_site_mismatch', 'partner_provisioning_ttl_exceeds_cap'],
    403: ['partner_access_denied', 'partner_provisioning_principal_restrictions_required'],
    409: ['key_limit_reached', ...IDEMPOTENCY_409],
    429: ['too_many_idempotency_keys'],
    500: ['partner_export_failed'],
  })
  createEnrollmentKey(
    @CurrentCaller() caller: PartnerKeyCaller,
    @Body() dto: CreateEnrollmentKeyDto,
  ): Promise<CreatedEnrollmentKeyDto> {
    return this.writes.createEnrollmentKey(caller, dto);
  }
}
