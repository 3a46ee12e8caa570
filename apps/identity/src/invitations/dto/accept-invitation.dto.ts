import { IsName, IsText } from '@rmm/validation';
import { MAX_PASSWORD_INPUT } from '../../passwords/password-rules.js';

export class AcceptInviteDto {
  @IsText({ min: 1, max: 255 })
  token!: string;

  @IsText({ max: MAX_PASSWORD_INPUT, description: '8 to 128 characters, strength-checked' })
  password!: string;

  @IsName({ optional: true })
  name?: string;
}

export class PreviewInviteDto {
  @IsText({ min: 1, max: 255 })
  token!: string;
}
