import { Body, Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { GoneError } from '@rmm/service-kit';
import { clientOf, noStore, type HttpRequest, type HttpResponse } from '../sessions/http.js';
import { SessionCookies } from '../sessions/session-cookies.js';
import { AcceptInviteDto, PreviewInviteDto } from './dto.js';
import { InvitesService } from './invites.service.js';

@ApiTags('Registration')
@Controller('auth')
export class InvitesController {
  constructor(
    private readonly invites: InvitesService,
    private readonly cookies: SessionCookies,
  ) {}

  @Post('invite/preview')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'What an invitation is for' })
  preview(
    @Body() { token }: PreviewInviteDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ) {
    noStore(response);
    return this.invites.preview(token, clientOf(request));
  }

  /** Tokens do not belong into paths, which end up in logs. */
  @Get('invite/preview/:token')
  @Public()
  @ApiOperation({ summary: 'Gone: send the token in the body of a POST', deprecated: true })
  previewByPath(): never {
    throw new GoneError();
  }

  @Post('accept-invite')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Accept an invitation with a password, and sign in' })
  async accept(
    @Body() dto: AcceptInviteDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ) {
    noStore(response);
    const { body, session } = await this.invites.accept(dto, clientOf(request));
    this.cookies.set(request, response, session.refreshToken, session.csrfToken);
    return body;
  }
}
