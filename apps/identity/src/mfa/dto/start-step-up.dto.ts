import { IsOneOf } from '@rmm/validation';
import { MfaProofsDto } from './mfa-proofs.dto.js';

export class StartStepUpDto extends MfaProofsDto {
  @IsOneOf(['passkey', 'sms'])
  method!: 'passkey' | 'sms';
}
