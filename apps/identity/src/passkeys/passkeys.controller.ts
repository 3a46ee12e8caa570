import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, SignedIn, SkipMfaEnrollment, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { PageQueryDto, pagedOf, UuidParam, type Paged } from '@rmm/validation';
import { MfaEnabledDto } from '../mfa/dto/mfa-enabled.dto.js';
import { setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';
import { DeletePasskeyDto } from './dto/delete-passkey.dto.js';
import { RegistrationStartedDto } from './dto/passkey-options.dto.js';
import { PasskeyDto, PasskeyRegisteredDto, PasskeyRenamedDto } from './dto/passkey.dto.js';
import { RegisterPasskeyDto } from './dto/register-passkey.dto.js';
import { RenamePasskeyDto } from './dto/rename-passkey.dto.js';
import { StartPasskeyRegistrationDto } from './dto/start-passkey-registration.dto.js';
import { PasskeyRegistrationService } from './passkey-registration.service.js';
import { PasskeyRemovalService } from './passkey-removal.service.js';
import { toPasskeyDto } from './passkey.mapper.js';
import { PasskeysService } from './passkeys.service.js';

@ApiTags('Passkeys')
@ErrorCodes({
  400: ['enrollment_grant_expired', 'invalid_credentials', 'passkey_registration_invalid'],
  403: ['existing_factor_step_up_required', 'mfa_required', 'mfa_required_by_policy'],
  404: ['not_found'],
  409: ['passkey_limit_reached'],
})
@Controller('auth/passkeys')
@SkipTenantStatus()
@SkipMfaEnrollment()
export class PasskeysController {
  constructor(
    private readonly passkeys: PasskeysService,
    private readonly registrations: PasskeyRegistrationService,
    private readonly removals: PasskeyRemovalService,
    private readonly cookies: SessionCookies,
  ) {}

  @Get()
  @SignedIn()
  @ApiOperation({ summary: 'List your passkeys' })
  @ApiOkResponse({ type: pagedOf(PasskeyDto) })
  list(@CurrentCaller() caller: UserCaller, @Query() query: PageQueryDto): Promise<Paged<PasskeyDto>> {
    return this.passkeys.list(caller, query);
  }

  @Post('register/options')
  @SignedIn()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Start the registration of a passkey',
    description: 'Returns the options for `navigator.credentials.create`, valid for five minutes in this session.',
  })
  @ApiOkResponse({ type: RegistrationStartedDto })
  async startRegistration(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: StartPasskeyRegistrationDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<RegistrationStartedDto> {
    setNoStore(response);
    return { options: await this.registrations.start(caller, dto) };
  }

  @Post('register/verify')
  @SignedIn()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Register a passkey',
    description: 'With the first factor of the account the response contains the recovery codes; they are shown once.',
  })
  @ApiOkResponse({ type: PasskeyRegisteredDto })
  async register(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: RegisterPasskeyDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<PasskeyRegisteredDto> {
    setNoStore(response);
    const { passkey, session, recoveryCodes } = await this.registrations.finish(caller, dto);
    const issued = this.cookies.set(request, response, session);
    const codes = recoveryCodes && { recoveryCodes };
    return { success: true, message: 'Passkey registered', passkey: toPasskeyDto(passkey), ...codes, ...issued };
  }

  @Patch(':id')
  @SignedIn()
  @ApiOperation({ summary: 'Rename one of your passkeys' })
  @ApiOkResponse({ type: PasskeyRenamedDto })
  async rename(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Passkey') id: string,
    @Body() { name }: RenamePasskeyDto,
  ): Promise<PasskeyRenamedDto> {
    return { success: true, passkey: await this.passkeys.rename(caller, id, name) };
  }

  @Delete(':id')
  @SignedIn()
  @RequireMfa()
  @ApiOperation({ summary: 'Delete one of your passkeys', description: 'Ends every other session.' })
  @ApiOkResponse({ type: MfaEnabledDto })
  async remove(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Passkey') id: string,
    @Body() proofs: DeletePasskeyDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<MfaEnabledDto> {
    setNoStore(response);
    const session = await this.removals.remove(caller, id, proofs);
    return { success: true, message: 'Passkey deleted', ...this.cookies.set(request, response, session) };
  }
}
