import { Body, Controller, HttpCode, Post, Res, UseGuards } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, SignedIn, SkipMfaEnrollment, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { noStore, type HttpResponse } from '../sessions/http.js';
import { StartStepUpDto, StepUpDto } from './dto.js';
import { StepUpGrantedDto } from './mfa-answers.dto.js';
import { MfaEnabledGuard } from './mfa-enabled.guard.js';
import { STEP_UP_TTL_SECONDS } from './step-up-grants.js';
import { StepUpService } from './step-up.service.js';

@ApiTags('MFA')
@Controller('auth/mfa/step-up')
@UseGuards(MfaEnabledGuard)
export class StepUpController {
  constructor(private readonly stepUps: StepUpService) {}

  @Post()
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({ summary: 'Prove a factor again; answers a grant for one operation' })
  @ApiOkResponse({ type: StepUpGrantedDto })
  async grant(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: StepUpDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StepUpGrantedDto> {
    noStore(response);
    return { stepUpGrantId: await this.stepUps.grant(caller, dto), expiresInSeconds: STEP_UP_TTL_SECONDS };
  }

  /** Not in the document as long as no method that needs a start is served. */
  @Post('start')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiExcludeEndpoint()
  start(@Body() { method }: StartStepUpDto): never {
    return this.stepUps.start(method);
  }
}
