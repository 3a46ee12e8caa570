import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { LoginBodyDto } from '../login/dto/login-body.dto.js';
import { setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';
import { RequestStartedDto } from './dto/passkey-options.dto.js';
import { StartPasskeyMfaDto } from './dto/start-passkey-mfa.dto.js';
import { VerifyPasskeyMfaDto } from './dto/verify-passkey-mfa.dto.js';
import { PasskeyMfaService } from './passkey-mfa.service.js';

@ApiTags('Passkeys')
@ErrorCodes({
  400: ['mfa_code_invalid', 'passkey_not_available'],
  401: ['mfa_session_invalid'],
  403: ['ip_not_allowed', 'sso_enforced'],
})
@Controller('auth/mfa/passkey')
export class PasskeyMfaController {
  constructor(
    private readonly logins: PasskeyMfaService,
    private readonly cookies: SessionCookies,
  ) {}

  @Post('options')
  @Public()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Start the second step of a login with a passkey',
    description: 'Returns the options for `navigator.credentials.get`, valid for five minutes for this login.',
  })
  @ApiOkResponse({ type: RequestStartedDto })
  async start(
    @Body() { tempToken }: StartPasskeyMfaDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<RequestStartedDto> {
    setNoStore(response);
    return { options: await this.logins.start(tempToken) };
  }

  @Post('verify')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Complete a login with a passkey' })
  @ApiOkResponse({ type: LoginBodyDto })
  async verify(
    @Body() { tempToken, credential }: VerifyPasskeyMfaDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<LoginBodyDto> {
    setNoStore(response);
    const { body, session } = await this.logins.finish(tempToken, credential);
    this.cookies.set(request, response, session);
    return body;
  }
}
