import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, Public, SignedIn, SkipMfaEnrollment, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { DoneWithMessageDto } from '../dto/done-with-message.dto.js';
import { MfaEnabledWithCodesDto } from '../mfa/dto/mfa-enabled.dto.js';
import { MfaVerificationService } from '../mfa/mfa-verification.service.js';
import { setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';
import { EnableSmsDto } from './dto/enable-sms.dto.js';
import { SendSmsDto } from './dto/send-sms.dto.js';
import { SmsFactorService } from './sms-factor.service.js';

@ApiTags('MFA')
@ErrorCodes({
  400: ['mfa_already_enabled', 'mfa_method_mismatch', 'phone_not_verified'],
  401: ['mfa_session_invalid'],
  403: ['existing_factor_step_up_required', 'mfa_method_not_allowed'],
  501: ['sms_not_configured'],
  502: ['upstream_failed'],
})
@Controller('auth/mfa/sms')
export class SmsFactorController {
  constructor(
    private readonly factors: SmsFactorService,
    private readonly logins: MfaVerificationService,
    private readonly cookies: SessionCookies,
  ) {}

  @Post('enable')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Use codes by SMS as second factor',
    description: 'Needs a confirmed phone number. The response contains the recovery codes; they are shown once.',
  })
  @ApiOkResponse({ type: MfaEnabledWithCodesDto })
  async enable(
    @CurrentCaller() caller: UserCaller,
    @Body() { stepUpGrantId }: EnableSmsDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<MfaEnabledWithCodesDto> {
    setNoStore(response);
    const { session, recoveryCodes } = await this.factors.enable(caller, stepUpGrantId);
    const issued = this.cookies.set(request, response, session);
    return { success: true, recoveryCodes, message: 'MFA enabled', ...issued };
  }

  @Post('send')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Send the code of a login by SMS' })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async send(@Body() { tempToken }: SendSmsDto): Promise<DoneWithMessageDto> {
    await this.logins.sendSms(tempToken);
    return { success: true, message: 'A code was sent' };
  }
}
