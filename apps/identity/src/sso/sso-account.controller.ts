import { Body, Controller, Delete, Get, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, SignedIn, SkipMfaEnrollment, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { DoneDto, ErrorCodes } from '@rmm/service-kit';
import { PageQueryDto, pagedOf, UuidParam, type Paged } from '@rmm/validation';
import { setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';
import {
  LinkIdentityDto,
  ReturnToDto,
  SsoIdentityDto,
  SsoLogoutDto,
  SsoRedirectDto,
  UnlinkIdentityDto,
} from './dto/sso-login.dto.js';
import { SSO_STATE_COOKIE, SsoCookies } from './sso-cookies.service.js';
import { SsoIdentitiesService } from './sso-identities.service.js';
import { SsoLoginService, type StartedFlow } from './sso-login.service.js';
import { SsoLogoutService } from './sso-logout.service.js';

/** Single sign-on of the signed-in user. @see docs/reference/sso.md */
@ApiTags('Single sign-on')
@ErrorCodes({ 400: ['invalid_provider_configuration'], 404: ['not_found'] })
@Controller('sso')
export class SsoAccountController {
  constructor(
    private readonly identities: SsoIdentitiesService,
    private readonly logins: SsoLoginService,
    private readonly logouts: SsoLogoutService,
    private readonly cookies: SsoCookies,
    private readonly sessions: SessionCookies,
  ) {}

  @Get('identities')
  @SignedIn()
  @SkipTenantStatus()
  @ApiOperation({ summary: 'List your identities at identity providers' })
  @ApiOkResponse({ type: pagedOf(SsoIdentityDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() page: PageQueryDto): Promise<Paged<SsoIdentityDto>> {
    return this.identities.list(caller, page);
  }

  @Delete('identities/:id')
  @SignedIn()
  @SkipTenantStatus()
  @ErrorCodes({ 400: ['invalid_credentials'], 409: ['last_sign_in_method'] })
  @ApiOperation({ summary: 'Remove one of your identities; the sessions it opened end' })
  @ApiOkResponse({ type: DoneDto })
  async unlink(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'SSO identity') id: string,
    @Body() { currentPassword }: UnlinkIdentityDto,
  ): Promise<DoneDto> {
    await this.identities.unlink(caller, id, currentPassword);
    return { success: true };
  }

  @Post('link')
  @SignedIn()
  @SkipTenantStatus()
  @HttpCode(200)
  @ErrorCodes({ 400: ['enrollment_grant_expired', 'invalid_credentials'], 403: ['mfa_required'] })
  @ApiOperation({ summary: 'Link an identity of a provider to your account' })
  @ApiOkResponse({ type: SsoRedirectDto })
  async link(
    @CurrentCaller() caller: UserCaller,
    @Body() { providerId, returnTo, ...proofs }: LinkIdentityDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<SsoRedirectDto> {
    const provider = await this.identities.getLinkable(caller, providerId, proofs);
    return this.follow(await this.logins.startLink(caller, provider, returnTo), request, response);
  }

  @Post('reauth')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({ summary: 'Prove your account at your identity provider again, instead of by a password' })
  @ApiOkResponse({ type: SsoRedirectDto })
  async reauthenticate(
    @CurrentCaller() caller: UserCaller,
    @Body() { returnTo }: ReturnToDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<SsoRedirectDto> {
    return this.follow(await this.logins.startReauthentication(caller, returnTo), request, response);
  }

  @Post('logout')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({ summary: 'End all your sessions, and get the URL that ends the one at the identity provider' })
  @ApiOkResponse({ type: SsoLogoutDto })
  async logout(
    @CurrentCaller() caller: UserCaller,
    @Body() { returnTo }: ReturnToDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<SsoLogoutDto> {
    const redirectUrl = await this.logouts.logout(caller, returnTo);
    this.sessions.clear(request, response);
    return { success: true, redirectUrl };
  }

  private follow(flow: StartedFlow, request: HttpRequest, response: HttpResponse): SsoRedirectDto {
    setNoStore(response);
    this.cookies.set(request, response, SSO_STATE_COOKIE, flow.browserKey);
    return { redirectUrl: flow.location, expiresInSeconds: 600 };
  }
}
