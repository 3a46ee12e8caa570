import { IsCidrList, IsFlag, IsInteger, IsName, IsWordList } from '@rmm/service-kit';
import { MAX_SOURCE_CIDRS } from './create-api-key.dto.js';

export class UpdateApiKeyDto {
  @IsName({ optional: true })
  name?: string;

  @IsWordList({ description: 'Replaces the scopes', optional: true })
  scopes?: string[];

  @IsInteger({ description: 'Requests per hour', min: 1, max: 100_000, optional: true })
  rateLimit?: number;

  @IsCidrList({ description: 'Replaces the CIDR ranges; empty: any address', max: MAX_SOURCE_CIDRS, optional: true })
  sourceCidrs?: string[];

  @IsFlag({ description: 'Mail the creator 14 and 3 days before the key expires', optional: true })
  expiryReminders?: boolean;
}
