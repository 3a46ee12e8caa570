import { IsInteger, IsIsoDateTime } from '@rmm/service-kit';

/** What is left out stays as it was. */
export class RotateEnrollmentKeyDto {
  @IsInteger({
    description: 'Enrollments the new key is good for; null: any number',
    min: 1,
    max: 100_000,
    optional: true,
    nullable: true,
  })
  maxUsage?: number | null;

  @IsIsoDateTime({ description: 'When the new key ends; brings an expired one back', optional: true })
  expiresAt?: Date;
}
