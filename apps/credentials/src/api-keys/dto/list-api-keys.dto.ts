import { IsOneOf, IsUuid, PageQueryDto } from '@rmm/validation';
import { API_KEY_STATUSES, type ApiKeyStatus } from '../api-key.entity.js';

export class ListApiKeysDto extends PageQueryDto {
  @IsUuid({ optional: true, description: 'Only those of this organization' })
  orgId?: string;

  @IsOneOf(API_KEY_STATUSES, { optional: true, description: 'Only those in this state' })
  status?: ApiKeyStatus;
}
