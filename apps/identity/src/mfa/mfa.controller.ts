import { Body, Controller, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  CurrentCaller,
  Public,
  RequireMfa,
  SignedIn,
  SkipMfaEnrollment,
  SkipTenantStatus,
  UserAuthenticator,
  type UserCaller,
} from '@rmm/access';
import { LoginBodyDto } from '../login/login-body.dto.js';
import { ApiOkOneOf } from '../api-ok-one-of.decorator.js';
import { noStore, type HttpRequest, type HttpResponse } from '../sessions/http.js';
import { REFRESH_COOKIE, SessionCookies } from '../sessions/session-cookies.js';
import { MfaDisableDto, MfaEnableDto, MfaSetupDto, MfaVerifyDto, ReplaceRecoveryCodesDto } from './dto.js';
import { MfaDisabledDto, MfaEnabledDto, MfaEnabledWithCodesDto, MfaSetupStartedDto } from './mfa-answers.dto.js';
import { MfaDisableService } from './mfa-disable.service.js';
import { MfaEnabledGuard } from './mfa-enabled.guard.js';
import { MfaLoginService } from './mfa-login.service.js';
import { MfaSetupService } from './mfa-setup.service.js';
import { RecoveryCodesService } from './recovery-codes.service.js';

@ApiTags('MFA')
@Controller('auth/mfa')
@UseGuards(MfaEnabledGuard)
export class MfaController {
  constructor(
    private readonly setups: MfaSetupService,
    private readonly logins: MfaLoginService,
    private readonly disabling: MfaDisableService,
    private readonly recoveryCodes: RecoveryCodesService,
    private readonly users: UserAuthenticator,
    private readonly cookies: SessionCookies,
  ) {}

  @Post('setup')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({ summary: 'Begin to enroll an authenticator app; good for ten minutes' })
  @ApiOkResponse({ type: MfaSetupStartedDto })
  setup(
    @CurrentCaller() caller: UserCaller,
    @Body() { stepUpGrantId }: MfaSetupDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<MfaSetupStartedDto> {
    noStore(response);
    return this.setups.start(caller, stepUpGrantId);
  }

  /** The temporary token decides: with one this is the second step of a login, without one it confirms a setup. */
  @Post('verify')
  @Public({ optionalBearer: true })
  @HttpCode(200)
  @ApiOperation({ summary: 'Second step of a login, or confirm a setup' })
  @ApiOkOneOf(LoginBodyDto, MfaEnabledDto)
  async verify(
    @Body() { code, tempToken, method, stepUpGrantId }: MfaVerifyDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<LoginBodyDto | MfaEnabledDto> {
    noStore(response);
    if (tempToken !== undefined) {
      const { body, session } = await this.logins.verify(tempToken, code, method);
      this.cookies.set(request, response, session);
      return body;
    }
    const caller = await this.users.identify(request, response);
    const { session } = await this.setups.confirm(caller, code, stepUpGrantId);
    return { success: true, message: 'MFA enabled', ...this.cookies.set(request, response, session) };
  }

  @Post('enable')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({ summary: 'Confirm a setup; answers the recovery codes once' })
  @ApiOkResponse({ type: MfaEnabledWithCodesDto })
  async enable(
    @CurrentCaller() caller: UserCaller,
    @Body() { code, stepUpGrantId }: MfaEnableDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<MfaEnabledWithCodesDto> {
    noStore(response);
    const { session, recoveryCodes } = await this.setups.confirm(caller, code, stepUpGrantId);
    const issued = this.cookies.set(request, response, session);
    return { success: true, recoveryCodes, message: 'MFA enabled', ...issued };
  }

  @Post('disable')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({ summary: 'Give the second factor up; ends every other session' })
  @ApiOkResponse({ type: MfaDisabledDto })
  async disable(
    @CurrentCaller() caller: UserCaller,
    @Body() { currentPassword, code, refreshToken: kept }: MfaDisableDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<MfaDisabledDto> {
    noStore(response);
    const refreshToken = kept ?? this.cookies.read(request, REFRESH_COOKIE);
    const session = await this.disabling.disable(caller, { currentPassword, code, refreshToken });
    const issued = kept === undefined ? this.cookies.set(request, response, session) : session;
    return { success: true, message: 'MFA disabled', ...issued };
  }

  @Post('recovery-codes')
  @SignedIn()
  @RequireMfa()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({ summary: 'Replace all recovery codes; the old ones die at once' })
  @ApiOkResponse({ type: MfaEnabledWithCodesDto })
  async replaceRecoveryCodes(
    @CurrentCaller() caller: UserCaller,
    @Body() _body: ReplaceRecoveryCodesDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<MfaEnabledWithCodesDto> {
    noStore(response);
    const { session, recoveryCodes } = await this.recoveryCodes.replace(caller);
    const issued = this.cookies.set(request, response, session);
    return { success: true, recoveryCodes, message: 'Recovery codes replaced', ...issued };
  }
}
