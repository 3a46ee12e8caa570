import { IsEmailAddress, IsText, IsUuid } from '@rmm/validation';
import { MAX_PASSWORD_INPUT } from '../../passwords/password.policy.js';

export class LoginDto {
  @IsEmailAddress({ example: 'robin@example.com', description: 'Address of the account' })
  email!: string;

  @IsText({ min: 1, max: MAX_PASSWORD_INPUT, description: 'Compared exactly as typed' })
  password!: string;

  @IsUuid({ optional: true, description: 'Enters the membership in this organization instead of the one used last' })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Enters the membership in this partner instead of the one used last' })
  partnerId?: string;
}
