import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { type BodyRule, DoneDto, ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { clientKey, setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { BackchannelLogoutService } from './backchannel-logout.service.js';

const FORM = 'application/x-www-form-urlencoded';

/** The form that an identity provider posts. */
export const BACKCHANNEL_LOGOUT_BODY: BodyRule = {
  path: '/sso/backchannel-logout',
  limitBytes: 64 * 1024,
  contentTypes: [FORM],
  read: 'buffer',
};

/** Called by identity providers. @see docs/reference/sso.md */
@ApiTags('Single sign-on')
@ErrorCodes({ 400: ['logout_token_invalid'], 404: ['not_found'] })
@Controller('sso')
export class BackchannelLogoutController {
  constructor(private readonly logouts: BackchannelLogoutService) {}

  @Post('backchannel-logout/:providerId')
  @Public()
  @HttpCode(200)
  @ApiConsumes(FORM)
  @ApiBody({ schema: { type: 'object', required: ['logout_token'], properties: { logout_token: { type: 'string' } } } })
  @ApiOperation({ summary: 'End the sessions that a logout token of the identity provider names' })
  @ApiOkResponse({ type: DoneDto })
  async logout(
    @UuidParam('providerId', 'SSO provider') providerId: string,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<DoneDto> {
    setNoStore(response);
    await this.logouts.end(providerId, request.rawBody?.toString('utf8') ?? '', clientKey(request));
    return { success: true };
  }
}
