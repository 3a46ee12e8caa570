import { IsOneOf } from '@rmm/service-kit';
import { MfaProofsDto } from './mfa-proofs.dto.js';

export class StartStepUpDto extends MfaProofsDto {
  @IsOneOf(['passkey', 'sms'])
  method!: 'passkey' | 'sms';
}
