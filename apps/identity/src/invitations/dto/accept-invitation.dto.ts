import { IsName, IsText } from '@rmm/validation';
import { MAX_PASSWORD_INPUT } from '../../passwords/password.policy.js';

export class AcceptInviteDto {
  @IsText({ min: 1, max: 255, description: 'Token from the mailed link' })
  token!: string;

  @IsText({
    optional: true,
    min: 1,
    max: MAX_PASSWORD_INPUT,
    description: 'The new password of a new account, the current one of an existing one; absent with a bearer token',
  })
  password?: string;

  @IsName({ optional: true, description: 'For a new account' })
  name?: string;
}

export class PreviewInviteDto {
  @IsText({ min: 1, max: 255, description: 'Token from the mailed link' })
  token!: string;
}
