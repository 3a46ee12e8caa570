import { Body, Controller, Delete, Get, Header, HttpCode, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, type UserCaller } from '@rmm/access';
import { RateLimit } from '@rmm/rate-limits';
import { ErrorCodes } from '@rmm/service-kit';
import { pagedOf, UuidParam, type Paged } from '@rmm/validation';
import { LIMITS } from '../limits.js';
import { CreateEnrollmentKeyDto } from './dto/create-enrollment-key.dto.js';
import { CreatedEnrollmentKeyDto, DeletedEnrollmentKeyDto, EnrollmentKeyDto } from './dto/enrollment-key.dto.js';
import { ListEnrollmentKeysDto } from './dto/list-enrollment-keys.dto.js';
import { PurgedKeysDto, PurgeExpiredKeysDto } from './dto/purge-expired-keys.dto.js';
import { RotateEnrollmentKeyDto } from './dto/rotate-enrollment-key.dto.js';
import { EnrollmentKeysService } from './enrollment-keys.service.js';

const EnrollmentKeyId = () => UuidParam('id', 'Enrollment key');

/** @see docs/reference/keys.md */
@ApiTags('Enrollment keys')
@ErrorCodes({ 400: ['enrollment_ttl_exceeds_cap'], 403: ['site_restricted'], 409: ['key_limit_reached'] })
@Controller('enrollment-keys')
export class EnrollmentKeysController {
  constructor(private readonly enrollmentKeys: EnrollmentKeysService) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'List enrollment keys, newest first' })
  @ApiOkResponse({ type: pagedOf(EnrollmentKeyDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListEnrollmentKeysDto): Promise<Paged<EnrollmentKeyDto>> {
    return this.enrollmentKeys.list(caller, query);
  }

  @Post()
  @RequirePermission('organizations:write')
  @RequireMfa()
  @RateLimit(LIMITS.changeEnrollmentKeys, 'user')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Create an enrollment key; only this response contains the key' })
  @ApiCreatedResponse({ type: CreatedEnrollmentKeyDto })
  create(@CurrentCaller() caller: UserCaller, @Body() dto: CreateEnrollmentKeyDto): Promise<CreatedEnrollmentKeyDto> {
    return this.enrollmentKeys.create(caller, dto);
  }

  @Post('purge-expired')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @RateLimit(LIMITS.changeEnrollmentKeys, 'user')
  @ApiOperation({ summary: 'Delete the expired enrollment keys of an organization' })
  @ApiBody({ type: PurgeExpiredKeysDto, required: false })
  @ApiOkResponse({ type: PurgedKeysDto })
  purgeExpired(@CurrentCaller() caller: UserCaller, @Body() dto: PurgeExpiredKeysDto): Promise<PurgedKeysDto> {
    return this.enrollmentKeys.purgeExpired(caller, dto.orgId);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'Get an enrollment key, without the key itself' })
  @ApiOkResponse({ type: EnrollmentKeyDto })
  get(@CurrentCaller() caller: UserCaller, @EnrollmentKeyId() id: string): Promise<EnrollmentKeyDto> {
    return this.enrollmentKeys.get(caller, id);
  }

  @Post(':id/rotate')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @RateLimit(LIMITS.changeEnrollmentKeys, 'user')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Rotate an enrollment key; only this response contains the new key' })
  @ApiBody({ type: RotateEnrollmentKeyDto, required: false })
  @ApiOkResponse({ type: CreatedEnrollmentKeyDto })
  rotate(
    @CurrentCaller() caller: UserCaller,
    @EnrollmentKeyId() id: string,
    @Body() dto: RotateEnrollmentKeyDto,
  ): Promise<CreatedEnrollmentKeyDto> {
    return this.enrollmentKeys.rotate(caller, id, dto);
  }

  @Delete(':id')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @RateLimit(LIMITS.changeEnrollmentKeys, 'user')
  @ApiOperation({ summary: 'Delete an enrollment key; its devices stay enrolled' })
  @ApiOkResponse({ type: DeletedEnrollmentKeyDto })
  delete(@CurrentCaller() caller: UserCaller, @EnrollmentKeyId() id: string): Promise<DeletedEnrollmentKeyDto> {
    return this.enrollmentKeys.delete(caller, id);
  }
}
