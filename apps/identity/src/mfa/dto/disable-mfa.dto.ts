import { IsText } from '@rmm/validation';
import { EnableMfaDto } from './enable-mfa.dto.js';

export class DisableMfaDto extends EnableMfaDto {
  @IsText({ optional: true, min: 1, max: 4096, description: 'For clients that store the token themselves' })
  refreshToken?: string;
}
