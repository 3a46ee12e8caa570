import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { LoginBodyDto } from '../login/dto/login-body.dto.js';
import { clientKey, setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';
import { PasskeyLoginDto } from './dto/passkey-login.dto.js';
import { RequestStartedDto } from './dto/passkey-options.dto.js';
import { PasskeyLoginService } from './passkey-login.service.js';

@ApiTags('Passkeys')
@ErrorCodes({ 401: ['login_failed'], 403: ['ip_not_allowed'] })
@Controller('auth/passkeys/login')
export class PasskeyLoginController {
  constructor(
    private readonly logins: PasskeyLoginService,
    private readonly cookies: SessionCookies,
  ) {}

  @Post('options')
  @Public()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Start to sign in with a passkey',
    description: 'Returns the options for `navigator.credentials.get`, valid for five minutes.',
  })
  @ApiOkResponse({ type: RequestStartedDto })
  async start(
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<RequestStartedDto> {
    setNoStore(response);
    return { options: await this.logins.start(clientKey(request)) };
  }

  @Post('verify')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Sign in with a passkey', description: 'The session has verified a second factor.' })
  @ApiOkResponse({ type: LoginBodyDto })
  async verify(
    @Body() { credential, ...named }: PasskeyLoginDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<LoginBodyDto> {
    setNoStore(response);
    const { body, session } = await this.logins.finish(credential, named, clientKey(request));
    this.cookies.set(request, response, session);
    return body;
  }
}
