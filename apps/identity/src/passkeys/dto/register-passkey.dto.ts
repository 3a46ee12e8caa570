import { IsOpenObject } from '@rmm/validation';
import { StartPasskeyRegistrationDto } from './start-passkey-registration.dto.js';

export class RegisterPasskeyDto extends StartPasskeyRegistrationDto {
  @IsOpenObject({ description: 'The JSON form of the result of `navigator.credentials.create`' })
  credential!: Record<string, unknown>;
}
