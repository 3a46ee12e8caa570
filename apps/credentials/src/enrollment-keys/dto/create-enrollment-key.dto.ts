import { IsIsoDateTime, IsName, IsUuid, IsInteger } from '@rmm/validation';

export class CreateEnrollmentKeyDto {
  @IsUuid({ description: 'Required unless the caller belongs to one organization', optional: true })
  orgId?: string;

  @IsUuid({ description: 'The site devices are enrolled in', optional: true })
  siteId?: string;

  @IsName({ description: 'Shown in lists' })
  name!: string;

  @IsInteger({
    description: 'Enrollments the key may be used for; default 1',
    min: 1,
    max: 100_000,
    optional: true,
  })
  maxUsage?: number;

  @IsIsoDateTime({ description: 'When the key expires; not together with ttlMinutes', optional: true })
  expiresAt?: Date;

  @IsInteger({ description: 'Minutes until the key expires', min: 1, max: 525_600, optional: true })
  ttlMinutes?: number;
}
