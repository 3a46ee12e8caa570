import { IsName, IsWordList } from '@rmm/validation';
import { ApiKeySettingsDto } from './api-key.dto.js';

/** Absent fields keep their value. */
export class UpdateApiKeyDto extends ApiKeySettingsDto {
  @IsName({ optional: true, description: 'Name of the API key' })
  name?: string;

  @IsWordList({ description: 'Replaces the scopes', optional: true })
  scopes?: string[];
}
