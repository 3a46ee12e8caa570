import { IsUuid } from '@rmm/validation';

export class MigrateKeyDto {
  @IsUuid({ description: 'The API key that the principal becomes the owner of' })
  keyId!: string;
}
