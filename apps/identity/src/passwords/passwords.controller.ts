import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { ValidationError } from '@rmm/service-kit';
import { DoneWithMessageDto } from '../dto/success.dto.js';
import { clientOf, noStore, type HttpRequest, type HttpResponse } from '../sessions/http.js';
import { ForgotPasswordDto, ResetPasswordDto } from './dto.js';
import { ForgottenPasswords } from './forgotten-passwords.service.js';
import { PasswordResetService } from './password-reset.service.js';

@ApiTags('Authentication')
@Controller('auth')
export class PasswordsController {
  constructor(
    private readonly forgotten: ForgottenPasswords,
    private readonly resets: PasswordResetService,
  ) {}

  @Post('forgot-password')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Ask for a link to choose a new password; the answer is always the same' })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async forgot(
    @Body() { email }: ForgotPasswordDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<DoneWithMessageDto> {
    noStore(response);
    await this.forgotten.request(email, clientOf(request));
    return { success: true, message: 'If the address has an account, a mail with a link is on its way.' };
  }

  @Post('reset-password')
  @Public()
  @HttpCode(200)
  @ApiOperation({ summary: 'Choose a new password by a mailed link; ends every session' })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async reset(
    @Body() { token, password, newPassword }: ResetPasswordDto,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<DoneWithMessageDto> {
    noStore(response);
    const chosen = password ?? newPassword;
    if (chosen === undefined) throw ValidationError.of('password', 'is required');
    if (password !== undefined && newPassword !== undefined) {
      throw ValidationError.of('newPassword', 'does not go with password');
    }
    await this.resets.reset(token, chosen, clientOf(request));
    return { success: true, message: 'Password changed. Please sign in.' };
  }
}
