import { Body, Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  CurrentCaller,
  Public,
  SignedIn,
  SkipMfaEnrollment,
  SkipTenantStatus,
  UserAuthenticator,
  type UserCaller,
} from '@rmm/access';
import { DoneDto, ErrorCodes, UnauthenticatedError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { assertCsrfToken } from './csrf.js';
import { RefreshSessionDto } from './dto/refresh-session.dto.js';
import { RefreshedSessionDto, SessionDto, SwitchedSessionDto } from './dto/session.dto.js';
import { SwitchSessionDto } from './dto/switch-session.dto.js';
import { getHeader, setNoStore, type HttpRequest, type HttpResponse } from './http-request.js';
import { LoginSessionsService } from './login-sessions.service.js';
import { RefusedAttemptsService } from './refused-attempts.service.js';
import { CSRF_COOKIE, REFRESH_COOKIE, SessionCookies } from './session-cookies.service.js';
import { SessionRevocationsService, type SessionOwner } from './session-revocations.service.js';
import { CsrfRejected, RefreshInvalid } from './session.errors.js';
import { SessionsService } from './sessions.service.js';

@ApiTags('Authentication')
@ErrorCodes({
  401: ['refresh_invalid', 'unauthenticated'],
  403: ['csrf_rejected', 'ip_not_allowed', 'sso_enforced', 'sso_session_restricted'],
  404: ['not_found'],
  409: ['refresh_raced'],
})
@Controller('auth')
export class AuthController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly logins: LoginSessionsService,
    private readonly revocations: SessionRevocationsService,
    private readonly cookies: SessionCookies,
    private readonly users: UserAuthenticator,
    private readonly refusals: RefusedAttemptsService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  @Post('refresh')
  @Public()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Rotate the refresh token',
    description: 'The token comes from the body, or from its cookie together with the header x-service-csrf.',
  })
  @ApiOkResponse({ type: RefreshedSessionDto })
  async refresh(
    @Body() { refreshToken }: RefreshSessionDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<RefreshedSessionDto> {
    setNoStore(response);
    const token = refreshToken ?? this.cookies.read(request, REFRESH_COOKIE);
    try {
      return refreshToken === undefined
        ? await this.refreshByCookie(request, response, token)
        : await this.sessions.refresh(refreshToken);
    } catch (error) {
      await this.recordRefusal(error, token, 'POST /api/v1/auth/refresh');
      throw error;
    }
  }

  @Post('logout')
  @Public({ optionalBearer: true })
  @HttpCode(200)
  @ApiOperation({ summary: 'End all your sessions' })
  @ApiOkResponse({ type: DoneDto })
  async logout(@Req() request: HttpRequest, @Res({ passthrough: true }) response: HttpResponse): Promise<DoneDto> {
    try {
      await this.revocations.logout(await this.identify(request, response));
    } catch (error) {
      // A refused CSRF check changes no cookie: the request may come from another site.
      if (!(error instanceof CsrfRejected)) this.cookies.clear(request, response);
      await this.recordRefusal(error, this.cookies.read(request, REFRESH_COOKIE), 'POST /api/v1/auth/logout');
      throw error;
    }
    this.cookies.clear(request, response);
    return { success: true };
  }

  @Post('switch')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({ summary: 'Switch to another membership' })
  @ApiOkResponse({ type: SwitchedSessionDto })
  async switchMembership(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: SwitchSessionDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<SwitchedSessionDto> {
    setNoStore(response);
    const { user, session } = await this.logins.switchMembership(caller, dto);
    return { user, ...this.cookies.set(request, response, session) };
  }

  private async refreshByCookie(
    request: HttpRequest,
    response: HttpResponse,
    token: string | undefined,
  ): Promise<SessionDto> {
    if (token === undefined) throw new RefreshInvalid();
    assertCsrfToken(request, this.cookies.read(request, CSRF_COOKIE), this.config.corsOrigins);
    try {
      return this.cookies.set(request, response, await this.sessions.refresh(token));
    } catch (error) {
      if (error instanceof RefreshInvalid) this.cookies.clear(request, response);
      throw error;
    }
  }

  /** Returns the user of the bearer token; of the refresh cookie when that token is absent or no longer valid. */
  private async identify(request: HttpRequest, response: HttpResponse): Promise<SessionOwner> {
    const token = this.cookies.read(request, REFRESH_COOKIE);
    if (getHeader(request, 'authorization') !== undefined) {
      try {
        return await this.users.identify(request, response);
      } catch (error) {
        if (token === undefined) throw error;
      }
    }
    if (token === undefined) throw new UnauthenticatedError();
    assertCsrfToken(request, this.cookies.read(request, CSRF_COOKIE), this.config.corsOrigins);
    const owner = await this.sessions.findRefreshToken(token);
    if (owner) return owner;
    throw new RefreshInvalid();
  }

  private async recordRefusal(error: unknown, token: string | undefined, route: string): Promise<void> {
    if (error instanceof UnauthenticatedError || error instanceof CsrfRejected) {
      await this.refusals.recordForToken(token, { code: error.code, route });
    }
  }
}
