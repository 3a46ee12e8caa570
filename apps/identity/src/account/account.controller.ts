import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, SignedIn, SkipMfaEnrollment, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { ProfileDto } from './profile.dto.js';
import { ProfileService } from './profile.service.js';

@ApiTags('Account')
@Controller('users/me')
export class AccountController {
  constructor(private readonly profiles: ProfileService) {}

  @Get()
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @ApiOperation({ summary: 'The own profile' })
  @ApiOkResponse({ type: ProfileDto })
  me(@CurrentCaller() caller: UserCaller): Promise<ProfileDto> {
    return this.profiles.profile(caller);
  }
}
