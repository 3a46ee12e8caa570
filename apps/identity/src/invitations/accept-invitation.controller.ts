import { Body, Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiGoneResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { GoneError } from '@rmm/service-kit';
import { LoginBodyDto } from '../login/login-body.dto.js';
import { clientOf, noStore, type HttpRequest, type HttpResponse } from '../sessions/http.js';
import { SessionCookies } from '../sessions/session-cookies.js';
import { AcceptInviteDto, PreviewInviteDto } from '../members/dto/dto.js';
import { InvitePreviewDto } from './dto/invitation.dto.js';
import { InvitationsService } from './invitations.service.js';

@ApiTags('Registration')
@Controller('auth')
export class AcceptInvitationController {
  constructor(
    private readonly invites: InvitationsService,
    private readonly cookies: SessionCookies,
  ) {}

  @Post('invite/preview')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'What an invitation is for' })
  @ApiOkResponse({ type: InvitePreviewDto })
  preview(
    @Body() { token }: PreviewInviteDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<InvitePreviewDto> {
    noStore(response);
    return this.invites.preview(token, clientOf(request));
  }

  /** Tokens do not belong into paths, which end up in logs. */
  @Get('invite/preview/:token')
  @Public()
  @ApiOperation({ summary: 'Gone: send the token in the body of a POST', deprecated: true })
  @ApiGoneResponse({ schema: { $ref: '#/components/schemas/ErrorBody' } })
  previewByPath(): never {
    throw new GoneError();
  }

  @Post('accept-invite')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Accept an invitation with a password, and sign in' })
  @ApiOkResponse({ type: LoginBodyDto })
  async accept(
    @Body() dto: AcceptInviteDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<LoginBodyDto> {
    noStore(response);
    const { body, session } = await this.invites.accept(dto, clientOf(request));
    this.cookies.set(request, response, session);
    return body;
  }
}
