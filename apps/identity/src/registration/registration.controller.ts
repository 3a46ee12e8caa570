import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, Public, SignedIn, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { Deprecated, ErrorCodes } from '@rmm/service-kit';
import { ApiOkOneOf } from '../api-ok-one-of.decorator.js';
import { DoneWithMessageDto } from '../dto/done-with-message.dto.js';
import { clientKey, setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';
import { RegisterDto, RegisterPartnerDto } from './dto/register.dto.js';
import { ConfirmedAddressDto, SignInInsteadDto, VerificationSentDto, VerifiedDto } from './dto/verification.dto.js';
import { VerifyEmailDto } from './dto/verify-email.dto.js';
import { EmailVerificationService } from './email-verification.service.js';
import { RegistrationsService } from './registrations.service.js';

const CHECK_YOUR_MAIL: DoneWithMessageDto = {
  success: true,
  message: 'If the address can be used, a mail is on its way.',
};

@ApiTags('Registration')
@ErrorCodes({
  400: ['already_verified', 'business_email_required', 'verification_invalid', 'weak_password'],
  403: ['setup_required'],
  404: ['not_found'],
})
@Controller('auth')
export class RegistrationController {
  constructor(
    private readonly registrations: RegistrationsService,
    private readonly verifications: EmailVerificationService,
    private readonly cookies: SessionCookies,
  ) {}

  @Post('register')
  @Public()
  @HttpCode(200)
  @Deprecated({ since: '2026-11-23', successor: 'POST /auth/register-partner' })
  @ApiOperation({ summary: 'Check a registration without creating a user (legacy)' })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async register(@Body() dto: RegisterDto, @Req() request: HttpRequest): Promise<DoneWithMessageDto> {
    await this.registrations.register(dto, clientKey(request));
    return CHECK_YOUR_MAIL;
  }

  @Post('register-partner')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Register a partner: step 1, sends a confirmation mail' })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async registerPartner(@Body() dto: RegisterPartnerDto, @Req() request: HttpRequest): Promise<DoneWithMessageDto> {
    await this.registrations.registerPartner(dto, clientKey(request));
    return CHECK_YOUR_MAIL;
  }

  @Post('verify-email')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Verify an e-mail address: completes a registration and logs in, or confirms an address' })
  @ApiOkOneOf(VerifiedDto, SignInInsteadDto, ConfirmedAddressDto)
  async verify(
    @Body() { token }: VerifyEmailDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<VerifiedDto | SignInInsteadDto | ConfirmedAddressDto> {
    setNoStore(response);
    const verification = await this.verifications.verify(token, clientKey(request));
    if (!('login' in verification)) return verification;
    const { login, partner } = verification;
    const { user, tokens, csrfToken, mfaEnrollmentRequired, enrollUrl } = login.body;
    this.cookies.set(request, response, login.session);
    return {
      verified: true,
      user,
      partner: { id: partner.id, name: partner.name, slug: partner.slug, status: partner.status },
      tokens,
      csrfToken,
      mfaRequired: false,
      mfaEnrollmentRequired,
      ...(enrollUrl && { enrollUrl }),
    };
  }

  @Post('resend-verification')
  @SignedIn()
  @SkipTenantStatus()
  @HttpCode(200)
  @ApiOperation({ summary: 'Resend the link that verifies your e-mail address' })
  @ApiOkResponse({ type: VerificationSentDto })
  async resend(@CurrentCaller() caller: UserCaller): Promise<VerificationSentDto> {
    await this.verifications.resend(caller);
    return { sent: true };
  }
}
