import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, SignedIn, SkipMfaEnrollment, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { AccountDto } from './dto/profile.dto.js';
import { ProfileService } from './profile.service.js';

@ApiTags('Authentication')
@Controller('auth')
export class AuthProfileController {
  constructor(private readonly profiles: ProfileService) {}

  @Get('me')
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @ApiOperation({ summary: 'Get the signed-in user and its memberships' })
  @ApiOkResponse({ type: AccountDto })
  getAccount(@CurrentCaller() caller: UserCaller): Promise<AccountDto> {
    return this.profiles.getAccount(caller);
  }
}
