import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, SignedIn, SkipMfaEnrollment, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { setNoStore, type HttpResponse } from '../sessions/http-request.js';
import { StartStepUpDto } from './dto/start-step-up.dto.js';
import { StepUpGrantedDto } from './dto/step-up-granted.dto.js';
import { StepUpStartedDto } from './dto/step-up-started.dto.js';
import { StepUpDto } from './dto/step-up.dto.js';
import { STEP_UP_TTL_SECONDS } from './mfa-state.repository.js';
import { StepUpService } from './step-up.service.js';

@ApiTags('MFA')
@ErrorCodes({
  400: ['mfa_method_mismatch', 'mfa_not_enabled', 'mfa_proof_invalid', 'passkey_not_available'],
  501: ['sms_not_configured'],
  502: ['upstream_failed'],
})
@Controller('auth/mfa/step-up')
export class StepUpController {
  constructor(private readonly stepUps: StepUpService) {}

  @Post()
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({ summary: 'Verify a factor again', description: 'Returns a grant for one operation.' })
  @ApiOkResponse({ type: StepUpGrantedDto })
  async grant(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: StepUpDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StepUpGrantedDto> {
    setNoStore(response);
    return { stepUpGrantId: await this.stepUps.grant(caller, dto), expiresInSeconds: STEP_UP_TTL_SECONDS };
  }

  @Post('start')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Start a step-up with a passkey or by SMS',
    description: 'Returns the options for `navigator.credentials.get`, or sends a code.',
  })
  @ApiOkResponse({ type: StepUpStartedDto })
  async start(
    @CurrentCaller() caller: UserCaller,
    @Body() { method }: StartStepUpDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StepUpStartedDto> {
    setNoStore(response);
    const options = await this.stepUps.start(caller, method);
    return { success: true, ...(options && { options }) };
  }
}
