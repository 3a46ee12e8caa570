import { IsInteger, IsIsoDateTime } from '@rmm/validation';

/** Absent fields keep their value. */
export class RotateEnrollmentKeyDto {
  @IsInteger({
    description: 'Enrollments the new key may be used for; null: any number',
    min: 1,
    max: 100_000,
    optional: true,
    nullable: true,
  })
  maxUsage?: number | null;

  @IsIsoDateTime({ description: 'When the new key expires; an expired key becomes active again', optional: true })
  expiresAt?: Date;
}
