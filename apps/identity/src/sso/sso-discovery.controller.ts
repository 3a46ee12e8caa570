import { Body, Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { clientKey, setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { LoginContextDto, SsoDiscoveryDto, SsoDiscoveryRequestDto } from './dto/sso-login.dto.js';
import { SsoDiscoveryService } from './sso-discovery.service.js';

/** Serves the login page with data about single sign-on. @see docs/reference/sso.md */
@ApiTags('Authentication')
@Controller('auth')
export class SsoDiscoveryController {
  constructor(private readonly discovery: SsoDiscoveryService) {}

  @Post('sso-discovery')
  @Public()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Find the identity provider of an e-mail address',
    description: 'By its domain alone: the response does not depend on whether the address has an account.',
  })
  @ApiOkResponse({ type: SsoDiscoveryDto })
  discover(
    @Body() { email }: SsoDiscoveryRequestDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<SsoDiscoveryDto> {
    setNoStore(response);
    return this.discovery.discover(email, clientKey(request));
  }

  @Get('login-context')
  @Public()
  @ApiOperation({ summary: 'Get what the login page offers to the staff of the only partner' })
  @ApiOkResponse({ type: LoginContextDto })
  getLoginContext(@Req() request: HttpRequest): Promise<LoginContextDto> {
    return this.discovery.getLoginContext(clientKey(request));
  }
}
