import { IsFlag, IsUuid, PageQueryDto } from '@rmm/service-kit';

export class ListEnrollmentKeysDto extends PageQueryDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsFlag({ description: 'true: only keys whose expiresAt has passed', optional: true })
  expired?: boolean;
}
