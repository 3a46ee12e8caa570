import { Body, Controller, Delete, Get, HttpCode, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, FullPartnerAccess, RequirePermission, type UserCaller } from '@rmm/access';
import { DoneDto, ErrorCodes } from '@rmm/service-kit';
import { pagedOf, UuidParam, type Paged } from '@rmm/validation';
import { MemberScopeQueryDto } from '../members/dto/member-scope-query.dto.js';
import { setNoStore, type HttpResponse } from '../sessions/http-request.js';
import { InvitationDto, InvitedUserDto, InviteResentDto } from './dto/invitation.dto.js';
import { InviteUserDto } from './dto/invite-user.dto.js';
import { ListInvitationsDto } from './dto/list-invitations.dto.js';
import { ResendInviteDto } from './dto/resend-invitation.dto.js';
import { InvitationsService } from './invitations.service.js';

@ApiTags('Users')
@ErrorCodes({
  400: ['invalid_role_scope', 'user_not_invited'],
  404: ['not_found'],
  409: ['user_already_exists'],
  410: ['invite_accepted'],
})
@Controller('users')
export class InvitationsController {
  constructor(private readonly invitations: InvitationsService) {}

  @Post('invite')
  @RequirePermission('users:invite')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Invite a user to a partner or an organization' })
  @ApiCreatedResponse({ type: InvitedUserDto })
  invite(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: InviteUserDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<InvitedUserDto> {
    setNoStore(response);
    return this.invitations.invite(caller, dto);
  }

  @Post('resend-invite')
  @RequirePermission('users:invite')
  @FullPartnerAccess()
  @HttpCode(200)
  @ApiOperation({ summary: 'Resend an invitation; the previous link becomes invalid' })
  @ApiOkResponse({ type: InviteResentDto })
  async resendInvite(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: ResendInviteDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<InviteResentDto> {
    setNoStore(response);
    return { success: true, ...(await this.invitations.resend(caller, dto)) };
  }

  @Get('invitations')
  @RequirePermission('users:invite')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'List the invitations that are not accepted yet' })
  @ApiOkResponse({ type: pagedOf(InvitationDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: ListInvitationsDto): Promise<Paged<InvitationDto>> {
    return this.invitations.list(caller, query);
  }

  @Delete('invitations/:userId')
  @RequirePermission('users:invite')
  @FullPartnerAccess()
  @ApiOperation({ summary: 'Withdraw an invitation; its link becomes invalid' })
  @ApiOkResponse({ type: DoneDto })
  async withdraw(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('userId', 'Invitation') userId: string,
    @Query() query: MemberScopeQueryDto,
  ): Promise<DoneDto> {
    await this.invitations.withdraw(caller, userId, query);
    return { success: true };
  }
}
