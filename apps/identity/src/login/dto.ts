import { IsEmailAddress, IsText } from '@rmm/service-kit';

/** Longer ones are refused before a hash is spent. */
export const MAX_PASSWORD_INPUT = 1024;

export class LoginDto {
  @IsEmailAddress({ example: 'robin@example.com' })
  email: string;

  @IsText({ min: 1, max: MAX_PASSWORD_INPUT, description: 'Compared exactly as typed' })
  password: string;
}

export class ChangePasswordDto {
  @IsText({ min: 1, max: MAX_PASSWORD_INPUT })
  currentPassword: string;

  @IsText({ max: MAX_PASSWORD_INPUT, description: '8 to 128 characters, strength-checked' })
  newPassword: string;
}
