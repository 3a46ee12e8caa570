import { IsUuid } from '@rmm/service-kit';

export class MigrateKeyDto {
  @IsUuid({ description: 'The API key that the principal becomes the owner of' })
  keyId!: string;
}
