import { IsOneOf, IsText } from '@rmm/service-kit';
import type { VerifyMethod } from './mfa-login.service.js';

/** What every MFA body may carry beside its own fields. @see CONTRACT.md 4.7 */
class MfaProofsDto {
  @IsText({ optional: true, max: 1024 })
  currentPassword?: string;

  @IsText({ optional: true, max: 255 })
  stepUpGrantId?: string;

  @IsText({ optional: true, max: 255 })
  ssoReauthGrantId?: string;
}

export class MfaSetupDto extends MfaProofsDto {}

export class MfaEnableDto extends MfaProofsDto {
  @IsText({ min: 1, max: 64, example: '123456' })
  code: string;
}

export class MfaVerifyDto extends MfaEnableDto {
  @IsText({ optional: true, min: 1, max: 128, description: 'From login; absent while a factor is set up' })
  tempToken?: string;

  @IsOneOf(['totp', 'sms', 'recovery'], { optional: true, description: 'Told by the shape of the code when absent' })
  method?: VerifyMethod;
}
