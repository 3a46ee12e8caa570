import { IsCidrList, IsFlag, IsInteger, IsText } from '@rmm/validation';

const MAX_SOURCE_CIDRS = 50;

/** The optional settings of an API key, given when it is created or changed later. */
export class ApiKeySettingsDto {
  @IsText({ description: 'What the key is used for; null: no description', max: 1_000, optional: true, nullable: true })
  description?: string | null;

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
