import { Body, Controller, Get, Patch } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, SignedIn, SkipMfaEnrollment, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { UpdateProfileDto } from './dto.js';
import { ProfileUpdateService } from './profile-update.service.js';
import { ProfileDto, UpdatedProfileDto } from './profile.dto.js';
import { ProfileService } from './profile.service.js';

@ApiTags('Account')
@Controller('users/me')
export class AccountController {
  constructor(
    private readonly profiles: ProfileService,
    private readonly updates: ProfileUpdateService,
  ) {}

  @Get()
  @SignedIn()
  @SkipTenantStatus()
  @SkipMfaEnrollment()
  @ApiOperation({ summary: 'The own profile' })
  @ApiOkResponse({ type: ProfileDto })
  me(@CurrentCaller() caller: UserCaller): Promise<ProfileDto> {
    return this.profiles.profile(caller);
  }

  @Patch()
  @SignedIn()
  @SkipMfaEnrollment()
  @ApiOperation({ summary: 'Change the own name, preferences, or ask for another address' })
  @ApiOkResponse({ type: UpdatedProfileDto })
  update(@CurrentCaller() caller: UserCaller, @Body() dto: UpdateProfileDto): Promise<UpdatedProfileDto> {
    return this.updates.update(caller, dto);
  }
}
