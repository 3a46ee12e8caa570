import { IsIsoDateTime, IsName, IsInteger } from '@rmm/validation';

export class CreatePartnerKeyDto {
  @IsName()
  name!: string;

  @IsIsoDateTime({ optional: true, nullable: true })
  expiresAt?: Date | null;

  @IsInteger({ description: 'Requests per hour', min: 1, max: 10_000, optional: true })
  rateLimit?: number;
}
