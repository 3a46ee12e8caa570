import { IsUuid } from '@rmm/service-kit';

export class MigrateKeyDto {
  @IsUuid({ description: 'The API key the principal takes over' })
  keyId!: string;
}
