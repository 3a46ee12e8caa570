import { IsOneOf, IsUuid, PageQueryDto } from '@rmm/validation';
import { API_KEY_STATUSES, type ApiKeyStatus } from '../api-key.entity.js';

export class ListApiKeysDto extends PageQueryDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsOneOf(API_KEY_STATUSES, { optional: true })
  status?: ApiKeyStatus;
}
