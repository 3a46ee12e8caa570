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
import { UnauthenticatedError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { DoneDto } from '../dto/success.dto.js';
import { assertNoForgery } from './csrf.js';
import { RefreshDto, SwitchDto } from './dto.js';
import { headerOf, noStore, type HttpRequest, type HttpResponse } from './http.js';
import { LogoutService } from './logout.service.js';
import { RefreshService } from './refresh.service.js';
import { CSRF_COOKIE, REFRESH_COOKIE, SessionCookies } from './session-cookies.js';
import { RefreshedSessionDto, SessionDto, SwitchedSessionDto } from './session.dto.js';
import { RefreshInvalid } from './sessions.errors.js';
import { SwitchService } from './switch.service.js';

@ApiTags('Authentication')
@Controller('auth')
export class SessionsController {
  constructor(
    private readonly refreshes: RefreshService,
    private readonly logouts: LogoutService,
    private readonly switches: SwitchService,
    private readonly cookies: SessionCookies,
    private readonly users: UserAuthenticator,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  @Post('refresh')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Rotate the refresh token; the cookie needs the header x-service-csrf' })
  @ApiOkResponse({ type: RefreshedSessionDto })
  async refresh(
    @Body() { refreshToken }: RefreshDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<RefreshedSessionDto> {
    noStore(response);
    return refreshToken === undefined ? this.refreshByCookie(request, response) : this.refreshes.rotate(refreshToken);
  }

  @Post('logout')
  @Public({ optionalBearer: true })
  @HttpCode(200)
  @ApiOperation({ summary: 'End every session of the user' })
  @ApiOkResponse({ type: DoneDto })
  async logout(@Req() request: HttpRequest, @Res({ passthrough: true }) response: HttpResponse): Promise<DoneDto> {
    const user = await this.leaving(request, response);
    this.cookies.clear(request, response);
    await this.logouts.logout(user);
    return { success: true };
  }

  @Post('switch')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({ summary: 'Act in another membership' })
  @ApiOkResponse({ type: SwitchedSessionDto })
  async switchTo(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: SwitchDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<SwitchedSessionDto> {
    noStore(response);
    const { user, session } = await this.switches.switchTo(caller, dto);
    return { user, ...this.cookies.set(request, response, session) };
  }

  private async refreshByCookie(request: HttpRequest, response: HttpResponse): Promise<SessionDto> {
    const token = this.cookies.read(request, REFRESH_COOKIE);
    if (token === undefined) throw new RefreshInvalid();
    assertNoForgery(request, this.cookies.read(request, CSRF_COOKIE), this.config.corsOrigins);
    try {
      return this.cookies.set(request, response, await this.refreshes.rotate(token));
    } catch (error) {
      if (error instanceof RefreshInvalid) this.cookies.clear(request, response);
      throw error;
    }
  }

  /** Who leaves: by bearer token, or by refresh cookie with CSRF. */
  private async leaving(request: HttpRequest, response: HttpResponse) {
    if (headerOf(request, 'authorization') !== undefined) return this.users.identify(request, response);
    const token = this.cookies.read(request, REFRESH_COOKIE);
    if (token === undefined) throw new UnauthenticatedError();
    assertNoForgery(request, this.cookies.read(request, CSRF_COOKIE), this.config.corsOrigins);
    const owner = await this.refreshes.findOwner(token);
    if (owner) return owner;
    this.cookies.clear(request, response);
    throw new RefreshInvalid();
  }
}
