import { IsText } from '@rmm/validation';
import { MfaProofsDto } from './mfa-proofs.dto.js';

export class EnableMfaDto extends MfaProofsDto {
  @IsText({ min: 1, max: 64, example: '123456', description: 'Six digits of the authenticator app' })
  code!: string;
}
