import { IsText } from '@rmm/validation';
import { MAX_PASSWORD_INPUT } from '../password.policy.js';

export class ChangePasswordDto {
  @IsText({ min: 1, max: MAX_PASSWORD_INPUT, description: 'The current password of the account' })
  currentPassword!: string;

  @IsText({ max: MAX_PASSWORD_INPUT, description: '8 to 128 characters, strength-checked' })
  newPassword!: string;
}
