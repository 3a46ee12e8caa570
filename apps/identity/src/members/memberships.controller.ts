import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, SignedIn, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { DoneDto, ErrorCodes } from '@rmm/service-kit';
import { LeaveTenantDto } from './dto/leave-tenant.dto.js';
import { MembershipsService } from './memberships.service.js';

@ApiTags('Authentication')
@ErrorCodes({ 404: ['not_found'], 409: ['last_admin', 'managed_by_scim'] })
@Controller('auth')
export class MembershipsController {
  constructor(private readonly memberships: MembershipsService) {}

  @Post('leave')
  @SignedIn()
  @SkipTenantStatus()
  @HttpCode(200)
  @ApiOperation({ summary: 'End one of your memberships, or decline an invitation' })
  @ApiOkResponse({ type: DoneDto })
  async leaveTenant(@CurrentCaller() caller: UserCaller, @Body() dto: LeaveTenantDto): Promise<DoneDto> {
    await this.memberships.leaveTenant(caller, dto);
    return { success: true };
  }
}
