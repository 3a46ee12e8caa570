import { Body, Controller, Header, Headers, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiHeader, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { RateLimit } from '@rmm/rate-limits';
import { ErrorCodes } from '@rmm/service-kit';
import { LIMITS } from '../limits.js';
import { EnrollDto } from './dto/enroll.dto.js';
import { EnrolledDto } from './dto/enrolled.dto.js';
import { EnrollmentService } from './enrollment.service.js';

const SECRET = 'x-agent-enrollment-secret';
const OLD_TOKEN = 'x-agent-reenrollment-token';

@ApiTags('Agents')
@ErrorCodes({
  401: ['invalid_enrollment_key'],
  403: [
    'device_limit_reached',
    'enrollment_key_exhausted',
    'enrollment_key_expired',
    'enrollment_key_race_lost',
    'enrollment_secret_invalid',
    'enrollment_secret_required',
    'tenant_inactive',
  ],
})
@Controller('agents')
export class EnrollmentController {
  constructor(private readonly enrollment: EnrollmentService) {}

  /** Public: the enrollment key in the body is the credential. */
  @Post('enroll')
  @Public()
  @RateLimit(LIMITS.enrollAgent)
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Enroll a device', description: 'The only response that contains the token of the agent.' })
  @ApiHeader({ name: SECRET, required: false, description: 'Alternative to enrollmentSecret in the body' })
  @ApiHeader({ name: OLD_TOKEN, required: false, description: 'The old device token, for a forced re-enrollment' })
  @ApiCreatedResponse({ type: EnrolledDto })
  enroll(
    @Body() dto: EnrollDto,
    @Headers(SECRET) enrollmentSecret?: string,
    @Headers(OLD_TOKEN) reenrollmentToken?: string,
  ): Promise<EnrolledDto> {
    return this.enrollment.enroll(dto, { enrollmentSecret, reenrollmentToken });
  }
}
