import { Body, Controller, Delete, Get, Header, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, type UserCaller } from '@rmm/access';
import type { Page } from '@rmm/contracts';
import { UuidParam, RateLimits } from '@rmm/service-kit';
import { CreateEnrollmentKeyDto } from './dto/create-enrollment-key.dto.js';
import type { CreatedEnrollmentKeyDto, EnrollmentKeyDto } from './dto/enrollment-key.dto.js';
import { ListEnrollmentKeysDto } from './dto/list-enrollment-keys.dto.js';
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
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListEnrollmentKeysDto): Promise<Page<EnrollmentKeyDto>> {
    return this.enrollmentKeys.list(caller, query);
  }

  @Post()
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Header('Cache-Control', 'no-store')
  async create(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: CreateEnrollmentKeyDto,
  ): Promise<CreatedEnrollmentKeyDto> {
    await this.limits.hit(WRITE_LIMIT, caller.userId);
    return this.enrollmentKeys.create(caller, dto);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  get(@CurrentCaller() caller: UserCaller, @EnrollmentKeyId() id: string): Promise<EnrollmentKeyDto> {
    return this.enrollmentKeys.get(caller, id);
  }

  @Delete(':id')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  async delete(
    @CurrentCaller() caller: UserCaller,
    @EnrollmentKeyId() id: string,
  ): Promise<{ success: true; message: string }> {
    await this.limits.hit(WRITE_LIMIT, caller.userId);
    return this.enrollmentKeys.delete(caller, id);
  }
}
