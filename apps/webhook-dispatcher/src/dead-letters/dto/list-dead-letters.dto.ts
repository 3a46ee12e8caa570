import { IsUuid, PageQueryDto } from '@rmm/service-kit';

export class ListDeadLettersDto extends PageQueryDto {
  @IsUuid({ optional: true, description: 'Those of one organization; all that the caller reaches by default' })
  orgId?: string;

  @IsUuid({ optional: true })
  webhookId?: string;
}
