import { IsInteger, IsIsoDateTime, IsName } from '@rmm/service-kit';

/** What is left out is inherited from the key that goes. */
export class RotatePartnerKeyDto {
  @IsName({ optional: true })
  name?: string;

  @IsIsoDateTime({ description: 'null: the new key has no end of its own', optional: true, nullable: true })
  expiresAt?: Date | null;

  @IsInteger({ description: 'Requests per hour', min: 1, max: 10_000, optional: true })
  rateLimit?: number;
}
