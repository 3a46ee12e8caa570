import { Body, Controller, HttpCode, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, FullPartnerAccess, RequireMfa, RequirePermission, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { DoneWithMessageDto } from '../dto/done-with-message.dto.js';
import { MemberScopeQueryDto } from '../members/dto/member-scope-query.dto.js';
import { MfaResetService } from './mfa-reset.service.js';

/** Separate from the MFA routes, because it also works while `ENABLE_2FA` is false. */
@ApiTags('Users')
@ErrorCodes({
  400: ['mfa_not_enabled', 'mfa_proof_invalid', 'self_action_refused'],
  403: ['mfa_required', 'user_in_other_tenants'],
})
@Controller('users')
export class MfaResetController {
  constructor(private readonly resets: MfaResetService) {}

  @Post(':id/mfa/reset')
  @RequirePermission('users:write')
  @RequireMfa()
  @FullPartnerAccess()
  @HttpCode(200)
  @ApiOperation({ summary: "Reset a member's second factor and end its sessions" })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async reset(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'User') id: string,
    @Query() query: MemberScopeQueryDto,
    @Body() body: MemberScopeQueryDto,
  ): Promise<DoneWithMessageDto> {
    const scope = { orgId: body.orgId ?? query.orgId, partnerId: body.partnerId ?? query.partnerId };
    await this.resets.reset(caller, id, scope);
    return { success: true, message: 'MFA was reset. The user enrolls again at the next sign-in.' };
  }
}
