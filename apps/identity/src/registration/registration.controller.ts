import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, Public, SignedIn, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { DoneWithMessageDto } from '../action.dto.js';
import { ApiOkOneOf } from '../one-of-response.js';
import { clientOf, noStore, type HttpRequest, type HttpResponse } from '../sessions/http.js';
import { SessionCookies } from '../sessions/session-cookies.js';
import { RegisterDto, RegisterPartnerDto, VerifyEmailDto } from './dto.js';
import { ResendVerificationService } from './resend-verification.service.js';
import { SignUpService } from './sign-up.service.js';
import { ConfirmedAddressDto, SignInInsteadDto, VerificationSentDto, VerifiedDto } from './verification.dto.js';
import { VerificationService } from './verification.service.js';

const CHECK_YOUR_MAIL: DoneWithMessageDto = {
  success: true,
  message: 'If the address can be used, a mail is on its way.',
};

@ApiTags('Registration')
@Controller('auth')
export class RegistrationController {
  constructor(
    private readonly signUps: SignUpService,
    private readonly verifications: VerificationService,
    private readonly resends: ResendVerificationService,
    private readonly cookies: SessionCookies,
  ) {}

  @Post('register')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Legacy; creates nothing', deprecated: true })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async register(@Body() dto: RegisterDto, @Req() request: HttpRequest): Promise<DoneWithMessageDto> {
    await this.signUps.register(dto, clientOf(request));
    return CHECK_YOUR_MAIL;
  }

  @Post('register-partner')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Step 1 of sign-up: sends a confirmation mail' })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async registerPartner(@Body() dto: RegisterPartnerDto, @Req() request: HttpRequest): Promise<DoneWithMessageDto> {
    await this.signUps.registerPartner(dto, clientOf(request));
    return CHECK_YOUR_MAIL;
  }

  @Post('verify-email')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Step 2 of sign-up: makes partner and account, and signs in; also confirms an address' })
  @ApiOkOneOf(VerifiedDto, SignInInsteadDto, ConfirmedAddressDto)
  async verify(
    @Body() { token }: VerifyEmailDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<VerifiedDto | SignInInsteadDto | ConfirmedAddressDto> {
    noStore(response);
    const verification = await this.verifications.verify(token, clientOf(request));
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
  @ApiOperation({ summary: 'Mail a link that proves the own address, where it is not proven yet' })
  @ApiOkResponse({ type: VerificationSentDto })
  async resend(@CurrentCaller() caller: UserCaller): Promise<VerificationSentDto> {
    await this.resends.resend(caller);
    return { sent: true };
  }
}
