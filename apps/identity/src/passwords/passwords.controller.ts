import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, Public, SignedIn, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { ErrorCodes, ValidationError } from '@rmm/service-kit';
import { DoneWithMessageDto } from '../dto/done-with-message.dto.js';
import { clientKey, setNoStore, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';
import { ChangePasswordDto } from './dto/change-password.dto.js';
import { ForgotPasswordDto } from './dto/forgot-password.dto.js';
import { ResetPasswordDto } from './dto/reset-password.dto.js';
import { PasswordsService } from './passwords.service.js';
import { ResetLinksService } from './reset-links.service.js';

@ApiTags('Authentication')
@ErrorCodes({
  400: ['invalid_credentials', 'password_not_set', 'reset_token_invalid', 'weak_password'],
  403: ['sso_enforced'],
})
@Controller('auth')
export class PasswordsController {
  constructor(
    private readonly passwords: PasswordsService,
    private readonly links: ResetLinksService,
    private readonly cookies: SessionCookies,
  ) {}

  @Post('change-password')
  @SignedIn()
  @SkipTenantStatus()
  @HttpCode(200)
  @ApiOperation({ summary: 'Change your password', description: 'Ends every session.' })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async change(
    @CurrentCaller() caller: UserCaller,
    @Body() { currentPassword, newPassword }: ChangePasswordDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<DoneWithMessageDto> {
    await this.passwords.change(caller, currentPassword, newPassword);
    this.cookies.clear(request, response);
    return { success: true, message: 'Password changed. Please sign in again.' };
  }

  @Post('forgot-password')
  @Public()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Request a link to set a new password',
    description: 'The response does not depend on whether the address has an account.',
  })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async forgot(
    @Body() { email }: ForgotPasswordDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<DoneWithMessageDto> {
    setNoStore(response);
    await this.links.request(email, clientKey(request));
    return { success: true, message: 'If the address has an account, a mail with a link is on its way.' };
  }

  @Post('reset-password')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Set a new password with a mailed link', description: 'Ends every session.' })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async reset(
    @Body() dto: ResetPasswordDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<DoneWithMessageDto> {
    setNoStore(response);
    await this.passwords.reset(dto.token, newPasswordOf(dto), clientKey(request));
    return { success: true, message: 'Password changed. Please sign in.' };
  }
}

/** @throws ValidationError for both names of the field or neither */
function newPasswordOf({ password, newPassword }: ResetPasswordDto): string {
  const chosen = password ?? newPassword;
  if (chosen === undefined) throw ValidationError.forField('password', 'is required');
  if (password !== undefined && newPassword !== undefined) {
    throw ValidationError.forField('newPassword', 'does not go with password');
  }
  return chosen;
}
