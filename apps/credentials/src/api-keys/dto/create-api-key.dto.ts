import { IsCidrList, IsFlag, IsIsoDateTime, IsName, IsUuid, IsInteger, IsWordList } from '@rmm/service-kit';

export const MAX_SOURCE_CIDRS = 50;

export class CreateApiKeyDto {
  @IsUuid({ description: 'The organization the key belongs to' })
  orgId!: string;

  @IsName({ description: 'Shown in lists' })
  name!: string;

  @IsWordList({
    description: 'Scopes such as devices:read; the creator needs the permissions behind them',
    optional: true,
  })
  scopes?: string[];

  @IsIsoDateTime({ description: 'When the key expires; null or absent: never', optional: true, nullable: true })
  expiresAt?: Date | null;

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
