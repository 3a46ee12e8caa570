import { IsEmailAddress, IsText } from '@rmm/validation';
import { MAX_PASSWORD_INPUT } from '../../passwords/password-rules.js';

export class LoginDto {
  @IsEmailAddress({ example: 'robin@example.com' })
  email!: string;

  @IsText({ min: 1, max: MAX_PASSWORD_INPUT, description: 'Compared exactly as typed' })
  password!: string;
}
