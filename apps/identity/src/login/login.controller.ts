import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, Public, SignedIn, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { DoneWithMessageDto } from '../dto/success.dto.js';
import { ApiOkOneOf } from '../api-ok-one-of.decorator.js';
import { clientOf, noStore, type HttpRequest, type HttpResponse } from '../sessions/http.js';
import { SessionCookies } from '../sessions/session-cookies.js';
import { ChangePasswordDto, LoginDto } from './dto.js';
import { LoginBodyDto, MfaChallengeDto } from './login-body.dto.js';
import { LoginService } from './login.service.js';
import { PasswordService } from './password.service.js';

@ApiTags('Authentication')
@Controller('auth')
export class LoginController {
  constructor(
    private readonly logins: LoginService,
    private readonly passwords: PasswordService,
    private readonly cookies: SessionCookies,
  ) {}

  @Post('login')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Sign in with e-mail and password' })
  @ApiOkOneOf(LoginBodyDto, MfaChallengeDto)
  async login(
    @Body() { email, password }: LoginDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<LoginBodyDto | MfaChallengeDto> {
    noStore(response);
    const { body, session } = await this.logins.login(email, password, clientOf(request));
    if (session) this.cookies.set(request, response, session);
    return body;
  }

  @Post('change-password')
  @SignedIn()
  @SkipTenantStatus()
  @HttpCode(200)
  @ApiOperation({ summary: 'Change the own password; ends every session' })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async changePassword(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: ChangePasswordDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<DoneWithMessageDto> {
    await this.passwords.change(caller, dto.currentPassword, dto.newPassword);
    this.cookies.clear(request, response);
    return { success: true, message: 'Password changed. Please sign in again.' };
  }
}
