import { IsOneOf } from '@rmm/validation';
import { MfaProofsDto } from './mfa-proofs.dto.js';

export class StartStepUpDto extends MfaProofsDto {
  @IsOneOf(['passkey', 'sms'], { description: 'Second factor to use' })
  method!: 'passkey' | 'sms';
}
