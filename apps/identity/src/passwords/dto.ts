import { IsEmailAddress, IsText } from '@rmm/service-kit';
import { MAX_PASSWORD_INPUT } from '../login/dto.js';

/** Longer ones are no tokens of ours. */
const MAX_TOKEN_INPUT = 256;

export class ForgotPasswordDto {
  @IsEmailAddress({ example: 'robin@example.com' })
  email: string;
}

export class ResetPasswordDto {
  @IsText({ min: 1, max: MAX_TOKEN_INPUT, description: 'Of the mailed link' })
  token: string;

  @IsText({ optional: true, max: MAX_PASSWORD_INPUT, description: '8 to 128 characters, strength-checked' })
  password?: string;

  @IsText({ optional: true, max: MAX_PASSWORD_INPUT, description: 'Another name for password; never both' })
  newPassword?: string;
}
