import { Body, Controller, Get, Patch } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, SignedIn, SkipMfaEnrollment, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { ProfileDto, UpdatedProfileDto } from './dto/profile.dto.js';
import { UpdateProfileDto } from './dto/update-profile.dto.js';
import { ProfileService } from './profile.service.js';

@ApiTags('Account')
@ErrorCodes({
  400: ['enrollment_grant_expired', 'invalid_credentials', 'password_not_set'],
  409: ['managed_by_scim', 'user_already_exists'],
  403: ['existing_factor_step_up_required', 'sso_enforced'],
})
@Controller('users/me')
export class AccountController {
  constructor(private readonly profiles: ProfileService) {}

  @Get()
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @ApiOperation({ summary: 'Get your profile' })
  @ApiOkResponse({ type: ProfileDto })
  getProfile(@CurrentCaller() caller: UserCaller): Promise<ProfileDto> {
    return this.profiles.getProfile(caller);
  }

  @Patch()
  @SignedIn()
  @SkipMfaEnrollment()
  @ApiOperation({ summary: 'Update your name or preferences, or request another address' })
  @ApiOkResponse({ type: UpdatedProfileDto })
  update(@CurrentCaller() caller: UserCaller, @Body() dto: UpdateProfileDto): Promise<UpdatedProfileDto> {
    return this.profiles.update(caller, dto);
  }
}
