import { IsFlag, IsInteger, IsIsoDateTime, IsName, IsUuid } from '@rmm/validation';
import { IsIgnoredPartner } from './ignored-partner.decorator.js';

export class CreateEnrollmentKeyDto {
  @IsUuid({ description: 'An organization of the partner' })
  orgId!: string;

  @IsUuid({ optional: true, description: 'The site of the organization that devices are enrolled in' })
  siteId?: string;

  @IsName({ description: 'Shown in lists', example: 'Roll-out' })
  name!: string;

  @IsInteger({ optional: true, min: 1, max: 100_000, description: 'Enrollments the key may be used for; 1 by default' })
  maxUsage?: number;

  @IsInteger({
    optional: true,
    min: 1,
    max: 525_600,
    description: 'Minutes until the key expires; 30 days by default, or less when the partner limits it',
  })
  ttlMinutes?: number;

  @IsIsoDateTime({ optional: true, description: 'When the key expires; not together with `ttlMinutes`' })
  expiresAt?: Date;

  @IsFlag({ optional: true, description: 'True: agents need a secret in addition, returned as `enrollmentSecret`' })
  issueEnrollmentSecret?: boolean;

  @IsIgnoredPartner()
  partnerId?: unknown;
}
