import { IsName } from '@rmm/validation';

export class RenamePasskeyDto {
  @IsName({ description: 'Name of the passkey' })
  name!: string;
}
