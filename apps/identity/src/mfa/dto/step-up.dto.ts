import { IsOneOf, IsOpenObject, IsText } from '@rmm/validation';
import { MfaProofsDto } from './mfa-proofs.dto.js';

export const STEP_UP_OPERATIONS = ['add_factor', 'change_email', 'replace_recovery_codes'] as const;
export type StepUpOperation = (typeof STEP_UP_OPERATIONS)[number];

export const STEP_UP_METHODS = ['totp', 'recovery', 'sms', 'passkey'] as const;
export type StepUpMethod = (typeof STEP_UP_METHODS)[number];

export class StepUpDto extends MfaProofsDto {
  @IsOneOf(STEP_UP_METHODS, { description: 'Second factor that the code is of' })
  method!: StepUpMethod;

  @IsOneOf(STEP_UP_OPERATIONS, { description: 'Operation that the grant is for' })
  operation!: StepUpOperation;

  @IsText({ optional: true, min: 1, max: 64, example: '123456', description: 'Code of the second factor' })
  code?: string;

  @IsOpenObject({ optional: true, description: 'Of a passkey' })
  credential?: Record<string, unknown>;
}
