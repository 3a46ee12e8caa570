import { IsIsoDateTime } from '@rmm/validation';

export class RotateServicePrincipalDto {
  @IsIsoDateTime({
    description: 'When the new key expires; absent: as the previous key; required once that has expired; null: never',
    optional: true,
    nullable: true,
  })
  expiresAt?: Date | null;
}
