import { IsName } from '@rmm/validation';
import { MfaProofsDto } from '../../mfa/dto/mfa-proofs.dto.js';

export class StartPasskeyRegistrationDto extends MfaProofsDto {
  @IsName({ optional: true, description: 'Browser and operating system when absent' })
  name?: string;
}
