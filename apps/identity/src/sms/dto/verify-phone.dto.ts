import { IsText } from '@rmm/validation';
import { MfaProofsDto } from '../../mfa/dto/mfa-proofs.dto.js';

export class VerifyPhoneDto extends MfaProofsDto {
  @IsText({ pattern: /^\+[1-9][0-9]{6,14}$/, description: 'E.164', example: '+41791234567' })
  phoneNumber!: string;
}
