import { IsInteger, IsIsoDateTime, IsName } from '@rmm/validation';

/** Absent fields are copied from the rotated key. */
export class RotatePartnerKeyDto {
  @IsName({ optional: true, description: 'Name of the key' })
  name?: string;

  @IsIsoDateTime({ description: 'null: the new key does not expire by itself', optional: true, nullable: true })
  expiresAt?: Date | null;

  @IsInteger({ description: 'Requests per hour', min: 1, max: 10_000, optional: true })
  rateLimit?: number;
}
