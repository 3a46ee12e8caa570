import { IsText } from '@rmm/validation';
import { MfaProofsDto } from './mfa-proofs.dto.js';

export class EnableMfaDto extends MfaProofsDto {
  @IsText({ min: 1, max: 64, example: '123456' })
  code!: string;
}
