import { Body, Controller, Get, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { ApiFoundResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { ApiOkOneOf } from '../api-ok-one-of.decorator.js';
import { MfaChallengeDto } from '../login/dto/mfa-challenge.dto.js';
import { clientKey, getHeader, setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';
import { ExchangeCodeDto, ReturnToDto, SsoCheckDto, SsoSessionDto } from './dto/sso-login.dto.js';
import { SsoCallbackService } from './sso-callback.service.js';
import { SSO_CODE_COOKIE, SSO_STATE_COOKIE, SsoCookies } from './sso-cookies.service.js';
import { SsoDiscoveryService } from './sso-discovery.service.js';
import { SsoExchangeService } from './sso-exchange.service.js';
import { SsoLoginService, type SsoTarget } from './sso-login.service.js';

/** Public routes of a login. @see docs/reference/sso.md */
@ApiTags('Single sign-on')
@Controller('sso')
export class SsoLoginController {
  constructor(
    private readonly logins: SsoLoginService,
    private readonly callbacks: SsoCallbackService,
    private readonly exchanges: SsoExchangeService,
    private readonly discovery: SsoDiscoveryService,
    private readonly cookies: SsoCookies,
    private readonly sessions: SessionCookies,
  ) {}

  @Get('check/:orgId')
  @Public()
  @ApiOperation({ summary: 'Check whether an organization offers single sign-on' })
  @ApiOkResponse({ type: SsoCheckDto })
  check(@UuidParam('orgId', 'Organization') orgId: string, @Req() request: HttpRequest): Promise<SsoCheckDto> {
    return this.discovery.check(orgId, clientKey(request));
  }

  @Get('login/partner/:partnerId')
  @Public()
  @ErrorCodes({ 400: ['invalid_provider_configuration'], 404: ['not_found'] })
  @ApiOperation({ summary: "Send the browser to the partner's identity provider" })
  @ApiFoundResponse({ description: 'To the provider' })
  loginToPartner(
    @UuidParam('partnerId', 'SSO provider') partnerId: string,
    @Query() { returnTo }: ReturnToDto,
    @Req() request: HttpRequest,
    @Res() response: HttpResponse,
  ): Promise<void> {
    return this.redirect({ partnerId, orgId: null }, returnTo, request, response);
  }

  @Get('login/:orgId')
  @Public()
  @ErrorCodes({ 400: ['invalid_provider_configuration'], 404: ['not_found'] })
  @ApiOperation({ summary: "Send the browser to the organization's identity provider" })
  @ApiFoundResponse({ description: 'To the provider' })
  login(
    @UuidParam('orgId', 'SSO provider') orgId: string,
    @Query() { returnTo }: ReturnToDto,
    @Req() request: HttpRequest,
    @Res() response: HttpResponse,
  ): Promise<void> {
    return this.redirect({ orgId }, returnTo, request, response);
  }

  @Get('callback')
  @Public()
  @ApiOperation({
    summary: 'Receive the browser from an identity provider',
    description: 'Redirects to the application with `#ssoCode=`, or to `/login?error=<code>`.',
  })
  @ApiFoundResponse({ description: 'To the application' })
  async callback(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
    setNoStore(response);
    response.setHeader('Referrer-Policy', 'no-referrer');
    const browserKey = this.cookies.read(request, SSO_STATE_COOKIE);
    const result = await this.callbacks.complete(queryOf(request), browserKey, clientKey(request));
    this.cookies.clear(request, response, SSO_STATE_COOKIE);
    if (result.browserKey !== null) this.cookies.set(request, response, SSO_CODE_COOKIE, result.browserKey);
    redirect(response, result.location);
  }

  @Post('exchange')
  @Public()
  @HttpCode(200)
  @ErrorCodes({ 400: ['sso_code_invalid'], 403: ['ip_not_allowed'] })
  @ApiOperation({ summary: 'Exchange the code of a sign-on for a session, in the browser that signed on' })
  @ApiOkOneOf(SsoSessionDto, MfaChallengeDto)
  async exchange(
    @Body() { code }: ExchangeCodeDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<SsoSessionDto | MfaChallengeDto> {
    setNoStore(response);
    const cookie = this.cookies.read(request, SSO_CODE_COOKIE);
    const browserKey = cookie ?? (isBrowser(request) ? '' : null);
    const result = await this.exchanges.exchange(code, browserKey, clientKey(request));
    this.cookies.clear(request, response, SSO_CODE_COOKIE);
    if (result.session === null) return result.body;
    const { tokens, csrfToken } = this.sessions.set(request, response, result.session);
    return { ...tokens, refreshToken: result.session.refreshToken, csrfToken, user: result.body.user };
  }

  private async redirect(
    target: SsoTarget,
    returnTo: string | undefined,
    request: HttpRequest,
    response: HttpResponse,
  ): Promise<void> {
    setNoStore(response);
    const { location, browserKey } = await this.logins.start(target, returnTo, clientKey(request));
    this.cookies.set(request, response, SSO_STATE_COOKIE, browserKey);
    redirect(response, location);
  }
}

/** A client that is no browser cannot be made to sign in as another user by a link. */
const isBrowser = (request: HttpRequest): boolean =>
  getHeader(request, 'origin') !== undefined || getHeader(request, 'sec-fetch-site') !== undefined;

/** Repeated parameters stay visible, unlike in a parsed query. */
const queryOf = ({ url }: HttpRequest): URLSearchParams => new URL(url ?? '', 'http://localhost').searchParams;

function redirect(response: HttpResponse, location: string): void {
  response.statusCode = 302;
  response.setHeader('Location', location);
  response.end();
}
