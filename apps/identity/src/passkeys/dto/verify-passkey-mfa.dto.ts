import { IsOpenObject } from '@rmm/validation';
import { StartPasskeyMfaDto } from './start-passkey-mfa.dto.js';

export class VerifyPasskeyMfaDto extends StartPasskeyMfaDto {
  @IsOpenObject({ description: 'The JSON form of the result of `navigator.credentials.get`' })
  credential!: Record<string, unknown>;
}
