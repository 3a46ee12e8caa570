import { IsOneOf, IsUuid, PageQueryDto } from '@rmm/service-kit';

export class ListApiKeysDto extends PageQueryDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsOneOf(['active', 'revoked', 'expired'], { optional: true })
  status?: 'active' | 'revoked' | 'expired';
}
