import { Public } from '@rmm/access';
import { Body, Controller, Header, Headers, Post, UseGuards } from '@nestjs/common';
import { ApiCreatedResponse, ApiHeader, ApiTags } from '@nestjs/swagger';
import { EnrollDto } from './dto/enroll.dto.js';
import { EnrolledDto } from './dto/enrolled.dto.js';
import { EnrollmentLimitGuard } from './enrollment-limit.guard.js';
import { EnrollmentService } from './enrollment.service.js';

const SECRET = 'x-agent-enrollment-secret';
const OLD_TOKEN = 'x-agent-reenrollment-token';

@ApiTags('Agents')
@Controller('agents')
export class EnrollmentController {
  constructor(private readonly enrollment: EnrollmentService) {}

  /** The enrollment key in the body is the credential. */
  @Post('enroll')
  @Public()
  @UseGuards(EnrollmentLimitGuard)
  @Header('Cache-Control', 'no-store')
  @ApiHeader({ name: SECRET, required: false, description: 'Instead of enrollmentSecret in the body' })
  @ApiHeader({ name: OLD_TOKEN, required: false, description: 'The old device token, on a forced re-enrollment' })
  @ApiCreatedResponse({ type: EnrolledDto })
  async enroll(
    @Body() dto: EnrollDto,
    @Headers(SECRET) enrollmentSecret?: string,
    @Headers(OLD_TOKEN) reenrollmentToken?: string,
  ): Promise<EnrolledDto> {
    const headers = { enrollmentSecret: enrollmentSecret ?? null, reenrollmentToken: reenrollmentToken ?? null };
    return new EnrolledDto(await this.enrollment.enroll(dto, headers));
  }
}
