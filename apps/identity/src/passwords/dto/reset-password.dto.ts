import { IsText } from '@rmm/validation';
import { MAX_PASSWORD_INPUT } from '../password.policy.js';

/** Tokens are 48 characters; longer input is refused before it is hashed. */
const MAX_TOKEN_INPUT = 256;

export class ResetPasswordDto {
  @IsText({ min: 1, max: MAX_TOKEN_INPUT, description: 'From the mailed link' })
  token!: string;

  @IsText({ optional: true, max: MAX_PASSWORD_INPUT, description: '8 to 128 characters, strength-checked' })
  password?: string;

  @IsText({ optional: true, max: MAX_PASSWORD_INPUT, description: 'Alias of password; send one of them' })
  newPassword?: string;
}
