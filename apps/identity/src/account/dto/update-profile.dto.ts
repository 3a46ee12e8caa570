import { fieldOf, IsEmailAddress, IsName, IsOpenObject, IsText } from '@rmm/validation';
import { MAX_PASSWORD_INPUT } from '../../passwords/password.policy.js';

export class UpdateProfileDto {
  @IsName({ optional: true, description: 'Name of the user' })
  name?: string;

  @IsEmailAddress({ optional: true, description: 'Takes effect once the user follows the mailed link' })
  email?: string;

  @IsOpenObject({
    optional: true,
    description:
      'Merged per key; null removes a key; at most 64 KB in all. `theme` (light, dark, system), `density` (comfortable, ' +
      'compact), `font`, `timeFormat` (12h, 24h) and `locale` (BCP 47) are validated, other keys are free',
    example: { theme: 'dark', locale: 'en-GB' },
  })
  preferences?: Record<string, unknown>;

  @IsText({
    optional: true,
    min: 1,
    max: MAX_PASSWORD_INPUT,
    description: 'For a new address, when the last login or proof is older than ten minutes',
  })
  currentPassword?: string;

  @IsText({
    optional: true,
    min: 1,
    max: 255,
    description: 'Of the operation `change_email`; in addition to the password when a factor is enrolled',
  })
  stepUpGrantId?: string;

  @IsText({ optional: true, min: 1, max: 255, description: 'Instead of a password, for users without one' })
  ssoReauthGrantId?: string;

  @fieldOf({
    optional: true,
    name: 'isNotSetHere',
    check: () => false,
    text: 'is not set here: upload a picture to /users/me/avatar',
    description: 'Always refused: POST /users/me/avatar sets the picture',
    api: { type: String, deprecated: true },
  })
  avatarUrl?: never;
}
