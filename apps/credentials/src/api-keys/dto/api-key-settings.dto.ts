import { IsCidrList, IsFlag, IsInteger } from '@rmm/service-kit';

const MAX_SOURCE_CIDRS = 50;

/** The optional settings of an API key, given when it is created or changed later. */
export class ApiKeySettingsDto {
  @IsInteger({ description: 'Requests per hour', min: 1, max: 100_000, optional: true })
  rateLimit?: number;

  @IsCidrList({
    description: 'CIDR ranges the key may be used from; empty: any address',
    max: MAX_SOURCE_CIDRS,
    optional: true,
  })
  sourceCidrs?: string[];

  @IsFlag({ description: 'Mail the creator 14 and 3 days before the key expires; default true', optional: true })
  expiryReminders?: boolean;
}
