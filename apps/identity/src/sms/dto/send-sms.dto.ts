import { IsText } from '@rmm/validation';
import { MfaProofsDto } from '../../mfa/dto/mfa-proofs.dto.js';

export class SendSmsDto extends MfaProofsDto {
  @IsText({ min: 1, max: 128, description: 'From login' })
  tempToken!: string;
}
