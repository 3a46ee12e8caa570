import { IsIsoDateTime, IsName, IsUuid, IsWordList } from '@rmm/validation';
import { ApiKeySettingsDto } from './api-key-settings.dto.js';

export class CreateApiKeyDto extends ApiKeySettingsDto {
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
}
