import { IsIsoDateTime, IsName, IsInteger } from '@rmm/validation';

export class CreatePartnerKeyDto {
  @IsName({ description: 'Name of the key' })
  name!: string;

  @IsIsoDateTime({ optional: true, nullable: true, description: 'When the key expires; null: never' })
  expiresAt?: Date | null;

  @IsInteger({ description: 'Requests per hour', min: 1, max: 10_000, optional: true })
  rateLimit?: number;
}
