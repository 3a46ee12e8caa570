import { IsOneOf, IsText } from '@rmm/validation';
import { EnableMfaDto } from './enable-mfa.dto.js';

export const VERIFY_METHODS = ['totp', 'sms', 'recovery'] as const;
export type VerifyMethod = (typeof VERIFY_METHODS)[number];

export class VerifyMfaDto extends EnableMfaDto {
  @IsText({ optional: true, min: 1, max: 128, description: 'From login; absent to confirm a setup' })
  tempToken?: string;

  @IsOneOf(VERIFY_METHODS, { optional: true, description: 'Recognized by the shape of the code when absent' })
  method?: VerifyMethod;
}
