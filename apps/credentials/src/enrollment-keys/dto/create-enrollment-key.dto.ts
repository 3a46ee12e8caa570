import { IsIsoDateTime, IsName, IsUuid, IsInteger } from '@rmm/service-kit';

export class CreateEnrollmentKeyDto {
  @IsUuid({ description: 'Inferred for callers of one organization, needed from all others', optional: true })
  orgId?: string;

  @IsUuid({ description: 'Pins enrolled agents to a site', optional: true })
  siteId?: string;

  @IsName({ description: 'Shown in lists' })
  name: string;

  @IsInteger({
    description: 'Enrollments the key is good for; 1 unless said otherwise',
    min: 1,
    max: 100_000,
    optional: true,
  })
  maxUsage?: number;

  @IsIsoDateTime({ description: 'When the key ends; not beside ttlMinutes', optional: true })
  expiresAt?: Date;

  @IsInteger({ description: 'Minutes until the key ends', min: 1, max: 525_600, optional: true })
  ttlMinutes?: number;
}
