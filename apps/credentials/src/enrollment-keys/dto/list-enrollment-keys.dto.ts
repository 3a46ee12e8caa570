import { IsFlag, IsUuid, PageQueryDto } from '@rmm/validation';

export class ListEnrollmentKeysDto extends PageQueryDto {
  @IsUuid({ optional: true, description: 'Only those of this organization' })
  orgId?: string;

  @IsFlag({ description: 'true: expired keys only; false: keys that have not expired', optional: true })
  expired?: boolean;
}
