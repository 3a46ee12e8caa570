import { Body, Controller, Delete, Get, Header, HttpCode, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, type UserCaller } from '@rmm/access';
import { pagedOf, RateLimits, UuidParam, type Paged } from '@rmm/service-kit';
import { CreateEnrollmentKeyDto } from './dto/create-enrollment-key.dto.js';
import { CreatedEnrollmentKeyDto, DeletedEnrollmentKeyDto, EnrollmentKeyDto } from './dto/enrollment-key.dto.js';
import { ListEnrollmentKeysDto } from './dto/list-enrollment-keys.dto.js';
import { PurgedKeysDto, PurgeExpiredKeysDto } from './dto/purge-expired-keys.dto.js';
import { RotateEnrollmentKeyDto } from './dto/rotate-enrollment-key.dto.js';
import { EnrollmentKeysService } from './enrollment-keys.service.js';

/** CONTRACT.md 3: enrollment-key writes. */
const WRITE_LIMIT = { name: 'enrollment-key-writes', limit: 120, windowSeconds: 60, onRedisDown: 'allow' } as const;

const EnrollmentKeyId = () => UuidParam('id', 'Enrollment key');

/** @see SPEC.md 4.2, CONTRACT.md 4.2 */
@ApiTags('Enrollment keys')
@Controller('enrollment-keys')
export class EnrollmentKeysController {
  constructor(
    private readonly enrollmentKeys: EnrollmentKeysService,
    private readonly limits: RateLimits,
  ) {}

  @Get()
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'Enrollment keys with their uses, never the keys themselves' })
  @ApiOkResponse({ type: pagedOf(EnrollmentKeyDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListEnrollmentKeysDto): Promise<Paged<EnrollmentKeyDto>> {
    return this.enrollmentKeys.list(caller, query);
  }

  @Post()
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Make an enrollment key; it is shown this once' })
  @ApiCreatedResponse({ type: CreatedEnrollmentKeyDto })
  async create(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: CreateEnrollmentKeyDto,
  ): Promise<CreatedEnrollmentKeyDto> {
    await this.limits.hit(WRITE_LIMIT, caller.userId);
    return this.enrollmentKeys.create(caller, dto);
  }

  @Post('purge-expired')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ApiOperation({ summary: 'Delete the expired enrollment keys of an organization' })
  @ApiBody({ type: PurgeExpiredKeysDto, required: false })
  @ApiOkResponse({ type: PurgedKeysDto })
  async purgeExpired(@CurrentCaller() caller: UserCaller, @Body() dto: PurgeExpiredKeysDto): Promise<PurgedKeysDto> {
    await this.limits.hit(WRITE_LIMIT, caller.userId);
    return this.enrollmentKeys.purgeExpired(caller, dto.orgId);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'One enrollment key with its uses' })
  @ApiOkResponse({ type: EnrollmentKeyDto })
  get(@CurrentCaller() caller: UserCaller, @EnrollmentKeyId() id: string): Promise<EnrollmentKeyDto> {
    return this.enrollmentKeys.get(caller, id);
  }

  @Post(':id/rotate')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'A new key for an old one, which is dead at once; uses are counted from 0' })
  @ApiBody({ type: RotateEnrollmentKeyDto, required: false })
  @ApiOkResponse({ type: CreatedEnrollmentKeyDto })
  async rotate(
    @CurrentCaller() caller: UserCaller,
    @EnrollmentKeyId() id: string,
    @Body() dto: RotateEnrollmentKeyDto,
  ): Promise<CreatedEnrollmentKeyDto> {
    await this.limits.hit(WRITE_LIMIT, caller.userId);
    return this.enrollmentKeys.rotate(caller, id, dto);
  }

  @Delete(':id')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ApiOperation({ summary: 'Delete an enrollment key; devices it let in stay' })
  @ApiOkResponse({ type: DeletedEnrollmentKeyDto })
  async delete(@CurrentCaller() caller: UserCaller, @EnrollmentKeyId() id: string): Promise<DeletedEnrollmentKeyDto> {
    await this.limits.hit(WRITE_LIMIT, caller.userId);
    return this.enrollmentKeys.delete(caller, id);
  }
}
