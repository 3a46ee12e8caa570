import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, FullPartnerAccess, RequirePermission, type UserCaller } from '@rmm/access';
import { noStore, type HttpResponse } from '../sessions/http.js';
import { InviteUserDto, ResendInviteDto } from '../members/dto/dto.js';
import { InvitedUserDto, InviteResentDto } from './dto/invitation.dto.js';
import { InvitationsService } from './invitations.service.js';

@ApiTags('Users')
@Controller('users')
export class InvitationsController {
  constructor(private readonly invites: InvitationsService) {}

  @Post('invite')
  @RequirePermission('users:invite')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Invite somebody to the partner or an organization' })
  @ApiCreatedResponse({ type: InvitedUserDto })
  invite(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: InviteUserDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<InvitedUserDto> {
    noStore(response);
    return this.invites.invite(caller, dto);
  }

  @Post('resend-invite')
  @RequirePermission('users:invite')
  @FullPartnerAccess()
  @HttpCode(200)
  @ApiOperation({ summary: 'Send an invitation again; the older link dies' })
  @ApiOkResponse({ type: InviteResentDto })
  async resendInvite(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: ResendInviteDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<InviteResentDto> {
    noStore(response);
    return { success: true, ...(await this.invites.resend(caller, dto)) };
  }
}
