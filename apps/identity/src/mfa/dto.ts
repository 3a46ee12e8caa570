import { IsOneOf, IsOpenObject, IsText } from '@rmm/service-kit';
import type { VerifyMethod } from './mfa-login.service.js';
import { STEP_UP_OPERATIONS, type StepUpOperation } from './step-up-grants.js';

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

export class MfaDisableDto extends MfaEnableDto {
  @IsText({ optional: true, min: 1, max: 4096, description: 'For clients that keep the token themselves' })
  refreshToken?: string;
}

export class ReplaceRecoveryCodesDto extends MfaProofsDto {}

export const STEP_UP_METHODS = ['totp', 'recovery', 'sms', 'passkey'] as const;
export type StepUpMethod = (typeof STEP_UP_METHODS)[number];

export class StepUpDto extends MfaProofsDto {
  @IsOneOf(STEP_UP_METHODS)
  method: StepUpMethod;

  @IsOneOf(STEP_UP_OPERATIONS)
  operation: StepUpOperation;

  @IsText({ optional: true, min: 1, max: 64, example: '123456' })
  code?: string;

  @IsOpenObject({ optional: true, description: 'Of a passkey' })
  credential?: Record<string, unknown>;
}

export class StartStepUpDto extends MfaProofsDto {
  @IsOneOf(['passkey', 'sms'])
  method: 'passkey' | 'sms';
}
