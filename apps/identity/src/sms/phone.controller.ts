import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, SignedIn, SkipMfaEnrollment, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { DoneWithMessageDto } from '../dto/done-with-message.dto.js';
import { setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';
import { ConfirmPhoneDto } from './dto/confirm-phone.dto.js';
import { PhoneConfirmedDto } from './dto/phone-confirmed.dto.js';
import { VerifyPhoneDto } from './dto/verify-phone.dto.js';
import { PhoneService } from './phone.service.js';

@ApiTags('MFA')
@ErrorCodes({
  400: ['mfa_code_invalid'],
  403: ['existing_factor_step_up_required'],
  501: ['sms_not_configured'],
  502: ['upstream_failed'],
})
@Controller('auth/phone')
@SkipTenantStatus()
@SkipMfaEnrollment()
export class PhoneController {
  constructor(
    private readonly phones: PhoneService,
    private readonly cookies: SessionCookies,
  ) {}

  @Post('verify')
  @SignedIn()
  @HttpCode(200)
  @ApiOperation({ summary: 'Send a code to a phone number', description: 'Valid for five minutes and five tries.' })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async verify(
    @CurrentCaller() caller: UserCaller,
    @Body() { phoneNumber, stepUpGrantId }: VerifyPhoneDto,
  ): Promise<DoneWithMessageDto> {
    await this.phones.requestCode(caller, phoneNumber, stepUpGrantId);
    return { success: true, message: 'A code was sent' };
  }

  @Post('confirm')
  @SignedIn()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Confirm a phone number',
    description: 'When it changes the number of the active SMS factor, every other session ends.',
  })
  @ApiOkResponse({ type: PhoneConfirmedDto })
  async confirm(
    @CurrentCaller() caller: UserCaller,
    @Body() { phoneNumber, code, stepUpGrantId }: ConfirmPhoneDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<PhoneConfirmedDto> {
    setNoStore(response);
    const session = await this.phones.confirm(caller, { phoneNumber, code, stepUpGrantId });
    const issued = session && this.cookies.set(request, response, session);
    return { success: true, message: 'Phone number confirmed', ...issued };
  }
}
