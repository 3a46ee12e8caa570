import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { ApiOkOneOf } from '../api-ok-one-of.decorator.js';
import { clientKey, setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';
import { LoginBodyDto } from './dto/login-body.dto.js';
import { LoginDto } from './dto/login.dto.js';
import { MfaChallengeDto } from './dto/mfa-challenge.dto.js';
import { LoginService } from './login.service.js';

@ApiTags('Authentication')
@ErrorCodes({ 401: ['login_failed'], 403: ['ip_not_allowed'] })
@Controller('auth')
export class LoginController {
  constructor(
    private readonly logins: LoginService,
    private readonly cookies: SessionCookies,
  ) {}

  @Post('login')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Sign in with e-mail address and password' })
  @ApiOkOneOf(LoginBodyDto, MfaChallengeDto)
  async login(
    @Body() dto: LoginDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<LoginBodyDto | MfaChallengeDto> {
    setNoStore(response);
    const { body, session } = await this.logins.login(dto, clientKey(request));
    if (session) this.cookies.set(request, response, session);
    return body;
  }
}
