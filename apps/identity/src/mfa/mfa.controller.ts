import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
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
import { ErrorCodes } from '@rmm/service-kit';
import { ApiOkOneOf } from '../api-ok-one-of.decorator.js';
import { LoginBodyDto } from '../login/dto/login-body.dto.js';
import { setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { REFRESH_COOKIE, SessionCookies } from '../sessions/session-cookies.service.js';
import { DisableMfaDto } from './dto/disable-mfa.dto.js';
import { EnableMfaDto } from './dto/enable-mfa.dto.js';
import { MfaDisabledDto, MfaEnabledDto, MfaEnabledWithCodesDto } from './dto/mfa-enabled.dto.js';
import { MfaSetupStartedDto } from './dto/mfa-setup-started.dto.js';
import { ReplaceRecoveryCodesDto } from './dto/replace-recovery-codes.dto.js';
import { StartMfaSetupDto } from './dto/start-mfa-setup.dto.js';
import { VerifyMfaDto } from './dto/verify-mfa.dto.js';
import { MfaEnrollmentService } from './mfa-enrollment.service.js';
import { MfaVerificationService } from './mfa-verification.service.js';

@ApiTags('MFA')
@ErrorCodes({
  400: [
    'enrollment_grant_expired',
    'mfa_already_enabled',
    'mfa_code_invalid',
    'mfa_method_mismatch',
    'mfa_not_enabled',
    'mfa_proof_invalid',
    'mfa_setup_not_pending',
  ],
  401: ['mfa_session_invalid'],
  403: [
    'existing_factor_step_up_required',
    'ip_not_allowed',
    'mfa_method_not_allowed',
    'mfa_required_by_policy',
    'sso_enforced',
  ],
  428: ['replacement_session_required'],
})
@Controller('auth/mfa')
export class MfaController {
  constructor(
    private readonly enrollment: MfaEnrollmentService,
    private readonly logins: MfaVerificationService,
    private readonly users: UserAuthenticator,
    private readonly cookies: SessionCookies,
  ) {}

  @Post('setup')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({ summary: 'Start the setup of an authenticator app', description: 'Valid for ten minutes.' })
  @ApiOkResponse({ type: MfaSetupStartedDto })
  setup(
    @CurrentCaller() caller: UserCaller,
    @Body() { stepUpGrantId }: StartMfaSetupDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<MfaSetupStartedDto> {
    setNoStore(response);
    return this.enrollment.start(caller, stepUpGrantId);
  }

  /** With a temporary token this is the second step of a login, without one it confirms a setup. */
  @Post('verify')
  @Public({ optionalBearer: true })
  @HttpCode(200)
  @ApiOperation({ summary: 'Verify the second factor of a login or confirm a setup' })
  @ApiOkOneOf(LoginBodyDto, MfaEnabledDto)
  async verify(
    @Body() { code, tempToken, method, stepUpGrantId }: VerifyMfaDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<LoginBodyDto | MfaEnabledDto> {
    setNoStore(response);
    if (tempToken !== undefined) {
      const { body, session } = await this.logins.verify(tempToken, code, method);
      this.cookies.set(request, response, session);
      return body;
    }
    // The checks of `enable`, the address list included: both routes confirm a setup.
    const checks = { skipTenantStatus: true, skipMfaEnrollment: true };
    const caller = await this.users.authenticate(request, response, null, checks);
    const { session } = await this.enrollment.confirm(caller, code, stepUpGrantId);
    return { success: true, message: 'MFA enabled', ...this.cookies.set(request, response, session) };
  }

  @Post('enable')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Confirm a setup',
    description: 'The response contains the recovery codes; they are shown once.',
  })
  @ApiOkResponse({ type: MfaEnabledWithCodesDto })
  async enable(
    @CurrentCaller() caller: UserCaller,
    @Body() { code, stepUpGrantId }: EnableMfaDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<MfaEnabledWithCodesDto> {
    setNoStore(response);
    const { session, recoveryCodes } = await this.enrollment.confirm(caller, code, stepUpGrantId);
    const issued = this.cookies.set(request, response, session);
    return { success: true, recoveryCodes, message: 'MFA enabled', ...issued };
  }

  @Post('disable')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({ summary: 'Disable the second factor', description: 'Ends every other session.' })
  @ApiOkResponse({ type: MfaDisabledDto })
  async disable(
    @CurrentCaller() caller: UserCaller,
    @Body() { code, refreshToken: given, ...proofs }: DisableMfaDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<MfaDisabledDto> {
    setNoStore(response);
    const refreshToken = given ?? this.cookies.read(request, REFRESH_COOKIE);
    const session = await this.enrollment.disable(caller, { ...proofs, code, refreshToken });
    const issued = given === undefined ? this.cookies.set(request, response, session) : session;
    return { success: true, message: 'MFA disabled', ...issued };
  }

  @Post('recovery-codes')
  @SignedIn()
  @RequireMfa()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Replace all recovery codes',
    description: 'The old ones become invalid at once. Needs a factor proven within ten minutes, or a step-up grant.',
  })
  @ApiOkResponse({ type: MfaEnabledWithCodesDto })
  async replaceRecoveryCodes(
    @CurrentCaller() caller: UserCaller,
    @Body() { stepUpGrantId }: ReplaceRecoveryCodesDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<MfaEnabledWithCodesDto> {
    setNoStore(response);
    const { session, recoveryCodes } = await this.enrollment.replaceRecoveryCodes(caller, stepUpGrantId);
    const issued = this.cookies.set(request, response, session);
    return { success: true, recoveryCodes, message: 'Recovery codes replaced', ...issued };
  }
}
