import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, SignedIn, SkipMfaEnrollment, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { setNoStore, type HttpResponse } from '../sessions/http-request.js';
import { StartStepUpDto } from './dto/start-step-up.dto.js';
import { StepUpGrantedDto } from './dto/step-up-granted.dto.js';
import { StepUpDto } from './dto/step-up.dto.js';
import { STEP_UP_TTL_SECONDS } from './mfa-state.repository.js';
import { StepUpService } from './step-up.service.js';

@ApiTags('MFA')
@ErrorCodes({
  400: ['mfa_code_invalid', 'mfa_method_mismatch', 'mfa_not_enabled', 'mfa_proof_invalid', 'passkey_not_available'],
  401: ['mfa_session_invalid'],
  501: ['sms_not_configured'],
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

  /** Left out of the OpenAPI document while no method that needs a start is supported. */
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
