import { Body, Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiGoneResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { Public, UserAuthenticator } from '@rmm/access';
import { Deprecated, ErrorCodes, GoneError } from '@rmm/service-kit';
import { ApiOkOneOf } from '../api-ok-one-of.decorator.js';
import { LoginBodyDto } from '../login/dto/login-body.dto.js';
import { MfaChallengeDto } from '../login/dto/mfa-challenge.dto.js';
import type { LoginResult } from '../mfa/mfa-login.service.js';
import { clientKey, getHeader, setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { RefusedAttemptsService } from '../sessions/refused-attempts.service.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';
import { AcceptInviteDto, PreviewInviteDto } from './dto/accept-invitation.dto.js';
import { InvitePreviewDto } from './dto/invitation.dto.js';
import { InvitationAcceptanceService } from './invitation-acceptance.service.js';
import { INVITATION_REFUSALS } from './invitation.errors.js';

@ApiTags('Registration')
@ErrorCodes({
  400: ['invite_invalid', 'weak_password'],
  401: ['unauthenticated'],
  404: ['not_found'],
  403: ['ip_not_allowed', 'partner_inactive', 'sso_enforced', 'sso_session_restricted', 'tenant_inactive'],
  410: ['gone', 'invite_accepted'],
})
@Controller('auth')
export class InvitationAcceptanceController {
  constructor(
    private readonly acceptance: InvitationAcceptanceService,
    private readonly cookies: SessionCookies,
    private readonly refusals: RefusedAttemptsService,
    private readonly users: UserAuthenticator,
  ) {}

  @Post('invite/preview')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Preview an invitation' })
  @ApiOkResponse({ type: InvitePreviewDto })
  preview(
    @Body() { token }: PreviewInviteDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<InvitePreviewDto> {
    setNoStore(response);
    return this.refusals.auditing(INVITATION_REFUSALS, () => this.acceptance.preview(token, clientKey(request)));
  }

  /** Always 410: a token in a path would end up in logs. */
  @Get('invite/preview/:token')
  @Public()
  @ApiParam({ name: 'token', type: String, description: 'Token from the mailed link' })
  @Deprecated({ since: '2026-11-23', successor: 'POST /auth/invite/preview' })
  @ApiOperation({ summary: 'Refuse a token in the path; send it in the body of a POST' })
  @ApiGoneResponse({ schema: { $ref: '#/components/schemas/ErrorBody' } })
  previewByPath(): never {
    throw new GoneError();
  }

  @Post('accept-invite')
  @Public({ optionalBearer: true })
  @HttpCode(200)
  @ApiOperation({
    summary: 'Accept an invitation and log in: with a new password, with your own, or with your bearer token',
  })
  @ApiOkOneOf(LoginBodyDto, MfaChallengeDto)
  async accept(
    @Body() dto: AcceptInviteDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<LoginBodyDto | MfaChallengeDto> {
    setNoStore(response);
    const { body, session } = await this.refusals.auditing(INVITATION_REFUSALS, () =>
      this.acceptFor(dto, request, response),
    );
    if (session) this.cookies.set(request, response, session);
    return body;
  }

  /** A password decides, also where a client sends the bearer token of another signed-in user. */
  private async acceptFor(dto: AcceptInviteDto, request: HttpRequest, response: HttpResponse): Promise<LoginResult> {
    if (dto.password !== undefined || getHeader(request, 'authorization') === undefined) {
      return this.acceptance.accept(dto, clientKey(request));
    }
    const caller = await this.users.identify(request, response);
    return this.acceptance.acceptSignedIn(caller, dto.token, clientKey(request));
  }
}
